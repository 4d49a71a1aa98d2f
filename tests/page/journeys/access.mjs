// For everyone: keyboard, screen readers, small and dark screens, forced colours, paper.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import axeBuilder from '@axe-core/playwright';
import {name, picture, refused, verdict, visit} from '../harness.mjs';

const AxeBuilder = axeBuilder.default ?? axeBuilder;

async function axeFinds(page) {
  const {violations} = await new AxeBuilder({page}).analyze();
  return violations.map(
    ({id, nodes}) =>
      `${id}: ${nodes.map(({target, failureSummary}) => `${target} ${failureSummary}`).join(' | ')}`,
  );
}

const focused = (page) =>
  page.evaluate(() => document.activeElement.id || document.activeElement.tagName);

async function tabTo(page, wanted) {
  for (let i = 0; i < 60; ++i) {
    await page.keyboard.press('Tab');
    if ((await focused(page)) === wanted) return;
  }
  assert.fail(`the Tab key does not reach ${wanted}`);
}

export function journeys() {
  test('the whole journey by keyboard', () =>
    visit({}, async ({page}) => {
      await tabTo(page, 'model');
      await page.keyboard.type('org/model');
      await page.keyboard.press('Enter');
      await verdict(page);
      await tabTo(page, 'gpu');
      await page.keyboard.type('3060');
      assert.equal(await page.getAttribute('#gpu', 'aria-expanded'), 'true');
      assert.equal(await page.getAttribute('#gpu', 'aria-activedescendant'), 'gpu-0');
      await page.keyboard.press('Enter');
      assert.equal(await page.inputValue('#gpu'), 'RTX 3060 12GB');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Escape');
      assert.equal(await page.inputValue('#gpu'), 'RTX 3060 12GB');
      await page.keyboard.press('Tab');
      await page.keyboard.press('ArrowRight');
      assert.equal(await page.isChecked('#method input[value=qlora]'), true);
      await tabTo(page, 'batch');
      await page.keyboard.press('ArrowUp');
      assert.equal(await page.inputValue('#batch'), '2');
      await tabTo(page, 'length-slider');
      await page.keyboard.press('ArrowLeft');
      assert.equal(await page.inputValue('#length'), '1536');
      assert.equal(await page.getAttribute('#length-slider', 'aria-valuetext'), '1,536 tokens');
      await tabTo(page, 'checkpointing');
      await page.keyboard.press('Space');
      assert.equal(await page.isChecked('#checkpointing'), false);
      await page.waitForTimeout(200);
      assert.equal(
        await page.evaluate(() => window.location.hash),
        '#v=1&m=org/model&g=RTX+3060+12GB&t=qlora&b=2&l=1536&c=0',
      );
      await picture(page, 'keyboard');
    }));

  for (const [title, options] of [
    ['light', {}],
    ['dark', {colorScheme: 'dark'}],
    ['a phone', {viewport: {width: 390, height: 844}}],
  ]) {
    test(`axe finds nothing: ${title}`, () =>
      visit({context: options}, async ({page}) => {
        assert.deepEqual(await axeFinds(page), [], 'the empty page');
        await page.click('#sample');
        await verdict(page);
        for (const details of ['#more', '#config-details', '#timeline-details', '#setup-details'])
          await page.locator(`${details} > summary`).click();
        await page.locator('#peak-table button').first().click();
        assert.deepEqual(await axeFinds(page), [], 'with an answer');
        await page.click('#gpu');
        assert.deepEqual(await axeFinds(page), [], 'with the list open');
        await page.keyboard.press('Escape');
        await name(page, 'org/gated');
        await refused(page);
        assert.deepEqual(await axeFinds(page), [], 'with a refusal');
        await page.fill('#config-text', '{');
        await page.waitForSelector('#answer-errors .errors li');
        assert.deepEqual(await axeFinds(page), [], 'with errors');
      }));
  }

  for (const width of [320, 390, 768, 1280]) {
    test(`${width} pixels need no sideways scroll`, () =>
      visit({context: {viewport: {width, height: 800}}}, async ({page}) => {
        const fits = () =>
          page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
        assert.ok(await fits(), 'the empty page');
        await page.click('#sample');
        await verdict(page);
        for (const details of ['#more', '#config-details', '#timeline-details', '#setup-details'])
          await page.locator(`${details} > summary`).click();
        for (const button of await page.locator('#peak-table button').all()) await button.click();
        assert.ok(await fits(), 'with everything open');
        for (const table of ['#peak-table', '#phase-table'])
          assert.ok(
            await page.locator(table).evaluate((box) => box.scrollWidth <= box.clientWidth),
            table,
          );
        await picture(page, `width-${width}`, {fullPage: true});
      }));
  }

  test('exact bytes are there without a pointer', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      const number = page.locator('#peak-table tfoot .bytes');
      assert.match(await number.innerText(), /^\d+\.\d\d$/);
      await page.focus('#exact');
      await page.keyboard.press('Enter');
      assert.equal(await page.getAttribute('#exact', 'aria-pressed'), 'true');
      assert.match(await number.innerText(), /^[\d,]{9,}$/);
      await picture(page, 'exact-bytes', {fullPage: true});
      await page.keyboard.press('Enter');
      assert.match(await number.innerText(), /^\d+\.\d\d$/);
    }));

  test('columns of the timeline table stand apart', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      await page.locator('#timeline-details > summary').click();
      const gap = await page.locator('#timeline-table tbody tr').first().evaluate((row) => {
        const range = document.createRange();
        const box = (cell) => (range.selectNodeContents(cell), range.getBoundingClientRect());
        return box(row.cells[1]).left - box(row.cells[0]).right;
      });
      assert.ok(gap >= 12, `${gap} pixels`);
    }));

  for (const height of [700, 900])
    test(`a form higher than a window of ${height} is not cut`, () =>
      visit({context: {viewport: {width: 1280, height}}}, async ({page}) => {
        await page.click('#sample');
        await verdict(page);
        await page.locator('#more > summary').click();
        const form = () =>
          page.locator('#question').evaluate((box) => ({
            inner: box.scrollHeight - box.clientHeight,
            bottom: box.getBoundingClientRect().bottom,
          }));
        assert.ok((await form()).inner <= 1, 'nothing scrolls inside the form');
        await picture(page, `more-${height}`);
        await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight / 2));
        await page.waitForTimeout(100);
        assert.ok((await form()).bottom >= height * 0.6, 'its end stays in view');
      }));

  test('what can be pressed is large enough for a finger', () =>
    visit({context: {viewport: {width: 390, height: 844}, hasTouch: true}}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      await page.locator('#more > summary').click();
      const small = await page.evaluate(() =>
        [...document.querySelectorAll('button, select, summary, input:not([type=file]), textarea')]
          .filter((control) => control.checkVisibility() && control.offsetParent !== null)
          .map((control) => [control.closest('label.switch, .segments label') ?? control, control])
          .filter(([target]) => target.getBoundingClientRect().height < 44)
          .map(
            ([target, control]) =>
              `${control.id || control.textContent} ${target.getBoundingClientRect().height}`,
          ),
      );
      assert.deepEqual(small, []);
    }));

  test('a small screen keeps the verdict in sight while the form is used', () =>
    visit({context: {viewport: {width: 390, height: 700}}}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      await page.evaluate(() => window.scrollTo(0, 0));
      await page.waitForSelector('#pocket:not([hidden])');
      assert.match(await page.textContent('#pocket'), /GiB/);
      await picture(page, 'phone');
      await page.click('#pocket');
      await page.waitForSelector('#pocket', {state: 'hidden'});
      assert.equal(await focused(page), 'answer');
    }));

  test('the theme follows the system until a person chooses, and is kept', () =>
    visit({context: {colorScheme: 'dark'}}, async ({page}) => {
      const paper = () =>
        page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const dark = await paper();
      await page.click('#theme');
      const light = await paper();
      assert.notEqual(light, dark);
      await page.reload();
      assert.equal(await paper(), light);
      await page.click('#theme');
      assert.equal(await paper(), dark);
      await page.click('#sample');
      await verdict(page);
      await picture(page, 'dark');
    }));

  test('forced colours keep the segments apart', () =>
    visit({context: {forcedColors: 'active'}}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      assert.equal(
        await page.evaluate(() => getComputedStyle(document.querySelector('.segment')).strokeWidth),
        '1px',
      );
      await picture(page, 'forced-colours');
    }));

  test('nothing moves where motion is unwanted', () =>
    visit({context: {reducedMotion: 'reduce'}}, async ({page}) => {
      assert.equal(
        await page.evaluate(
          () => getComputedStyle(document.querySelector('.track'), '::after').transitionDuration,
        ),
        '0s',
      );
    }));

  test('on paper: the question, the answer, its assumptions', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      const pdf = await page.pdf();
      assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
      await page.emulateMedia({media: 'print'});
      for (const shown of ['#verdict', '#gpu', '#peak-table', '#provenance'])
        assert.equal(await page.locator(shown).isVisible(), true, shown);
      for (const gone of ['#theme', '#copy-link', '#length-slider'])
        assert.equal(await page.locator(gone).isVisible(), false, gone);
      await picture(page, 'paper', {fullPage: true});
    }));

  test('every field has a name, and what is drawn has words', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      const nameless = await page.evaluate(() =>
        [...document.querySelectorAll('input, select, textarea')]
          .filter(
            (control) => (control.labels?.length ?? 0) === 0 && !control.hasAttribute('aria-label'),
          )
          .map(({id}) => id),
      );
      assert.deepEqual(nameless, []);
      for (const drawing of ['#capacity svg', '#timeline svg'])
        assert.match(await page.getAttribute(drawing, 'aria-label'), /GiB/);
    }));
}
