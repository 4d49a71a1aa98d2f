// When things break: the module, the server, the frame around the page.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  kSample,
  moduleIsThere,
  name,
  picture,
  server,
  tensorPeak,
  verdict,
  visit,
} from '../harness.mjs';

export function journeys() {
  test('a module that aborts is replaced, and the next question is answered', () =>
    visit({module: 'fixture'}, async ({page}) => {
      await name(page, 'org/abort');
      await page.waitForFunction(
        () => document.querySelector('#verdict h2')?.textContent === 'The calculation stopped',
      );
      assert.match(await page.textContent('#answer-errors pre'), /crashed: unreachable/);
      await picture(page, 'stopped');
      await name(page, 'org/model');
      assert.equal(await verdict(page), 'fits');
    }));

  test('an answer that cannot be shown is said to be one, with its own error', () =>
    visit({module: 'fixture'}, async ({page}) => {
      await name(page, 'org/odd');
      await page.waitForFunction(
        () => document.querySelector('#verdict h2')?.textContent === 'The answer cannot be shown',
      );
      assert.doesNotMatch(await page.textContent('#answer-errors pre'), /not iterable/);
      assert.match(await page.textContent('#answer-errors pre'), /TypeError/);
      await name(page, 'org/model');
      assert.equal(await verdict(page), 'fits');
    }));

  test('a reply that is no JSON does not stop the page', () =>
    visit({module: 'fixture'}, async ({page}) => {
      await name(page, 'org/babble');
      await page.waitForFunction(
        () => document.querySelector('#verdict h2')?.textContent === 'The calculation stopped',
      );
      await name(page, 'org/model');
      assert.equal(await verdict(page), 'fits');
    }));

  test('a module that hangs is ended, and the next question is answered', () =>
    visit({module: 'fixture', before: ({page}) => page.clock.install()}, async ({page}) => {
      await page.clock.runFor(1000);
      await page.fill('#model', 'org/hang');
      await page.press('#model', 'Enter');
      await page.waitForFunction(
        () => document.getElementById('answer').getAttribute('aria-busy') === 'true',
      );
      await page.clock.runFor(9000);
      await page.waitForFunction(
        () => document.querySelector('#verdict h2')?.textContent === 'No answer in time',
      );
      await page.fill('#model', 'org/model');
      await page.press('#model', 'Enter');
      await verdict(page);
    }));

  test('many quick changes end with the answer to the last one', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      await page.fill('#length', '512');
      await page.waitForTimeout(300);
      const expected = await tensorPeak(page);
      await page.evaluate(() => {
        const input = document.getElementById('length');
        for (const value of [4096, 1024, 8192, 256, 3000, 512]) {
          input.value = value;
          input.dispatchEvent(new Event('input', {bubbles: true}));
        }
      });
      await page.waitForTimeout(400);
      assert.equal(await tensorPeak(page), expected);
    }));

  for (const file of ['wasm/peakline.mjs', 'wasm/peakline.wasm']) {
    test(
      `without ${file} the page names it and keeps the form`,
      {skip: file.endsWith('.wasm') && !moduleIsThere()},
      () =>
        visit({module: 'built', hidden: [file]}, async ({page, problems}) => {
          await page.waitForSelector('#module-banner:not([hidden])');
          assert.match(
            await page.textContent('#module-banner'),
            new RegExp(`Missing on this server: .*${file.replace('.', '\\.')}`),
          );
          await name(page, 'org/model');
          await page.waitForFunction(
            () => document.querySelector('#verdict h2').textContent === 'Nothing to compute with',
          );
          await page.fill('#length', '512');
          assert.match(await page.evaluate(() => window.location.hash), /l=512/);
          await picture(page, 'module-missing');
          problems.length = 0;
        }),
    );
  }

  test('the page works below any folder', () =>
    visit({prefix: '/spaces/deep/peakline/'}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
    }));

  test('in a frame of another site, with storage that throws', () =>
    visit(
      {
        before: ({page}) =>
          page.addInitScript(() => {
            for (const kind of ['localStorage', 'sessionStorage']) {
              Object.defineProperty(window, kind, {
                get() {
                  throw new DOMException('access is denied', 'SecurityError');
                },
              });
            }
          }),
      },
      async ({page, address}) => {
        const {origin} = await server();
        await page.goto(
          `${origin.replace('127.0.0.1', 'localhost')}/frame.html?src=${encodeURIComponent(address)}`,
        );
        const frame = page.frameLocator('iframe');
        await frame.locator('#file').setInputFiles({
          name: 'config.json',
          mimeType: 'application/json',
          buffer: Buffer.from(kSample),
        });
        await frame.locator('#answer-body:not([hidden])').waitFor();
        await frame.locator('#theme').click();
        assert.equal(await frame.locator('html').getAttribute('data-theme'), 'light');
      },
    ));

  test('in a frame that allows no worker it says so', () =>
    visit({}, async ({page, address}) => {
      const {origin} = await server();
      await page.goto(`${origin}/frame.html?sandbox&src=${encodeURIComponent(address)}`);
      await page.frameLocator('iframe').locator('#module-banner').waitFor();
      assert.match(
        await page.frameLocator('iframe').locator('#module-banner').textContent(),
        /frame around the page, allows no worker/,
      );
    }));

  test('nothing but its own files and the hub is asked for', () =>
    visit({}, async ({page, context, url, hub}) => {
      const elsewhere = [];
      context.on('request', (request) => {
        if (
          ![url, hub.url].some((known) => request.url().startsWith(new URL(known).origin)) &&
          !/^(data|blob):/.test(request.url())
        )
          elsewhere.push(request.url());
      });
      await page.reload();
      await name(page, 'org/model');
      await verdict(page);
      assert.deepEqual(elsewhere, []);
    }));
}
