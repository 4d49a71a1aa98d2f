// The address carries the state: reload, Back, sharing, and links that are not quite right.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {kSample, name, picture, tensorPeak, verdict, visit} from '../harness.mjs';

const hashOf = (page) => page.evaluate(() => window.location.hash);

async function chooseMuch(page) {
  await name(page, 'org/model');
  await verdict(page);
  await page.check('#method input[value=full]', {force: true});
  await page.fill('#batch', '2');
  await page.fill('#length', '768');
  await page.uncheck('#checkpointing', {force: true});
  await page.click('#more summary');
  await page.selectOption('#setting-optim', 'sgd');
  await page.selectOption('#setting-autocast', 'off');
  await page.click('#gpu');
  await page.fill('#gpu', 'a100 80');
  await page.press('#gpu', 'Enter');
  await page.waitForTimeout(200);
}

export function journeys() {
  test('a fresh page has no hash, and defaults are left out of it', () =>
    visit({}, async ({page}) => {
      assert.equal(await hashOf(page), '');
      await name(page, 'org/model');
      await verdict(page);
      assert.equal(await hashOf(page), '#v=1&m=org/model');
    }));

  test('a reload and a shared link give the same answer', () =>
    visit({}, async ({page, context, address}) => {
      await chooseMuch(page);
      const hash = await hashOf(page);
      assert.match(hash, /^#v=1&m=org\/model&g=A100\+80GB&t=full&b=2&l=768&c=0&o=sgd&a=off$/);
      const peak = await tensorPeak(page);
      await page.reload();
      await verdict(page);
      assert.equal(await tensorPeak(page), peak);
      const other = await context.newPage();
      await other.goto(address + hash);
      await verdict(other);
      assert.equal(await tensorPeak(other), peak);
      assert.equal(await other.inputValue('#batch'), '2');
      assert.equal(await other.inputValue('#setting-autocast'), 'off');
      assert.equal(await other.isChecked('#checkpointing'), false);
    }));

  test('Back undoes one change at a time', () =>
    visit({}, async ({page}) => {
      await name(page, 'org/model');
      await verdict(page);
      const peak = await tensorPeak(page);
      await page.check('#method input[value=full]', {force: true});
      await page.uncheck('#checkpointing', {force: true});
      await page.goBack();
      assert.equal(await page.isChecked('#checkpointing'), true);
      assert.equal(await page.isChecked('#method input[value=full]'), true);
      await page.goBack();
      assert.equal(await page.isChecked('#method input[value=lora]'), true);
      await page.waitForFunction(
        (old) => document.querySelector('#facts .fact:nth-child(4) .bytes')?.title === old,
        peak,
      );
      await page.goForward();
      assert.equal(await page.isChecked('#method input[value=full]'), true);
    }));

  test('dragging the slider leaves one entry to go back to', () =>
    visit({}, async ({page}) => {
      await name(page, 'org/model');
      await verdict(page);
      const before = await page.evaluate(() => history.length);
      for (let i = 0; i < 3; ++i) await page.press('#length-slider', 'ArrowLeft');
      assert.equal(await page.inputValue('#length'), '768');
      assert.equal(await page.evaluate(() => history.length), before + 1);
      await page.goBack();
      assert.equal(await page.inputValue('#length'), '2048');
    }));

  test('what a link holds beyond this page is ignored, and the page says so', () =>
    visit({hash: '#v=9&m=org/model&b=2&l=abc&t=magic&future=1&gb=-3'}, async ({page}) => {
      await verdict(page);
      assert.equal(await page.inputValue('#batch'), '2');
      assert.equal(await page.inputValue('#length'), '2048');
      assert.equal(await page.isChecked('#method input[value=lora]'), true);
      const said = await page.textContent('#link-banner:not([hidden])');
      for (const words of [/later version/, /max_length: l=abc/, /method: t=magic/, /future=1/, /gb=-3/])
        assert.match(said, words);
      await picture(page, 'link-ignored');
      await page.evaluate(() => (window.location.hash = '#v=1&m=org/model&b=2'));
      await page.waitForSelector('#link-banner', {state: 'hidden'});
    }));

  test('a card that the list does not hold is named as the mistake', () =>
    visit({hash: '#v=1&m=org/model&g=RTX+4O9O'}, async ({page}) => {
      await page.waitForSelector('#answer-errors .errors li');
      assert.match(await page.textContent('#answer-errors'), /gpu.*RTX 4O9O/s);
      assert.equal(await page.getAttribute('#gpu', 'aria-invalid'), 'true');
    }));

  test('a pasted config survives a reload in its tab, and its link says what is missing', () =>
    visit({}, async ({page, context, address}) => {
      await page.setInputFiles('#file', {
        name: 'config.json',
        mimeType: 'application/json',
        buffer: Buffer.from(kSample),
      });
      await verdict(page);
      assert.match(
        await page.textContent('#link-note'),
        /a link carries the settings, not the config/,
      );
      const hash = await hashOf(page);
      assert.equal(hash, '#v=1&p=1');
      await page.reload();
      await verdict(page);
      const other = await context.newPage();
      await other.goto(`${address}${hash}`);
      await other.waitForSelector('#model-status[data-tone=bad]');
      assert.match(
        await other.textContent('#model-status'),
        /pasted config\.json, which a link cannot carry/,
      );
    }));

  for (const stored of ['{junk', 'null', '{"text":5}'])
    test(`what is stored for this tab may be ${stored}`, () =>
      visit(
        {
          hash: '#v=1&p=1',
          before: ({page}) =>
            page.addInitScript((text) => {
              if (window.sessionStorage.getItem('seen') === null) {
                window.sessionStorage.setItem('seen', '1');
                window.sessionStorage.setItem('peakline.config', text);
              }
            }, stored),
        },
        async ({page}) => {
          await page.waitForSelector('#model-status[data-tone=bad]');
          assert.match(await page.textContent('#model-status'), /This link has no model/);
          assert.equal(
            await page.evaluate(() => window.sessionStorage.getItem('peakline.config')),
            null,
          );
          await name(page, 'org/model');
          await verdict(page);
        },
      ));

  test('a pasted config too long to keep is named as such after a reload', () =>
    visit({}, async ({page}) => {
      const long = kSample.replace('{', `{"unused": "${'x'.repeat(200_000)}",`);
      await page.setInputFiles('#file', {
        name: 'config.json',
        mimeType: 'application/json',
        buffer: Buffer.from(long),
      });
      await verdict(page);
      await page.reload();
      await page.waitForSelector('#model-status[data-tone=bad]');
      assert.match(await page.textContent('#model-status'), /characters, and a tab keeps at most/);
    }));

  test('the skip link leads to the answer and leaves the state alone', () =>
    visit({}, async ({page}) => {
      await name(page, 'org/model');
      await verdict(page);
      await page.focus('#skip');
      await page.press('#skip', 'Enter');
      assert.equal(await page.evaluate(() => document.activeElement.id), 'answer');
      assert.equal(await hashOf(page), '#v=1&m=org/model');
    }));
}
