// Everything a hub may answer instead of a config.json, and what the page says about it.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {name, picture, refused, status, verdict, visit} from '../harness.mjs';

export function journeys() {
  test('a gated model: the terms, their address, and another way', () =>
    visit({}, async ({page, hub}) => {
      await name(page, 'org/gated');
      const said = await refused(page);
      assert.match(said, /gated/);
      assert.match(said, /paste its config\.json/);
      assert.match(said, /GatedRepo/);
      assert.equal(await page.getAttribute('#model-status a', 'href'), `${hub.url}/org/gated`);
      assert.equal(await page.getAttribute('#model', 'aria-invalid'), 'true');
      await picture(page, 'gated');
    }));

  test('a typo or a private model', () =>
    visit({}, async ({page}) => {
      await name(page, 'org/mdoel');
      assert.match(await refused(page), /no public model called org\/mdoel.*spelling.*private/s);
    }));

  const refusals = [
    ['no config.json, GGUF files say', 'org/no-config', /has no config\.json.*GGUF.*made from/s],
    ['a disabled repository', 'org/disabled', /disabled access to org\/disabled.*another copy/s],
    ['a hub that is ill', 'org/broken', /status 503.*Try again/s],
    ['a sign-in page in place of the file', 'org/sign-in', /web page.*hub address/s],
  ];
  for (const [what, model, words] of refusals) {
    test(what, () =>
      visit({}, async ({page}) => {
        await name(page, model);
        assert.match(await refused(page), words);
      }));
  }

  test('a revision that does not exist, and main instead', () =>
    visit({}, async ({page}) => {
      await name(page, 'org/model@nope');
      assert.match(await refused(page), /no revision "nope"/);
      await page.click('#model-status button');
      await verdict(page);
    }));

  test('a renamed model shows its new name', () =>
    visit({}, async ({page}) => {
      await name(page, 'old-name');
      await verdict(page);
      assert.match(await status(page), /org\/renamed \(old-name is now called so\)/);
    }));

  test('too many requests, then again', () =>
    visit({}, async ({page, hub}) => {
      hub.state.limited = true;
      await name(page, 'org/model');
      assert.match(await refused(page), /within five minutes/);
      hub.state.limited = false;
      await page.click('#model-status button');
      await verdict(page);
    }));

  test('no network: the hub cannot be reached, a pasted config still works', () =>
    visit({}, async ({page, context}) => {
      await page.click('#sample');
      await verdict(page);
      await context.setOffline(true);
      await name(page, 'org/model');
      assert.match(await refused(page), /offline|cannot be reached/);
      await page.setInputFiles('#file', {
        name: 'config.json',
        mimeType: 'application/json',
        buffer: Buffer.from('{"model_type": "x"}'),
      });
      await page.waitForSelector('#answer-errors:not([hidden]), #answer-body:not([hidden])');
      await context.setOffline(false);
    }));

  test('only the newest of several look-ups counts', () =>
    visit({}, async ({page, hub}) => {
      hub.state.delay = 300;
      await name(page, 'org/model');
      await page.waitForSelector('#model-status[data-tone=busy]');
      await name(page, 'org/other');
      await verdict(page);
      assert.match(await status(page), /org\/other/);
      await page.waitForTimeout(700);
      assert.match(await status(page), /org\/other/);
    }));

  test('an address of the hub in any of its forms', () =>
    visit({}, async ({page, hub}) => {
      for (const form of [
        `${hub.url}/org/model`,
        `${hub.url}/org/model/tree/main`,
        `${hub.url}/org/model/blob/main/config.json?x=1#L3`,
        'https://huggingface.co/org/model',
        'hf.co/org/model',
        ' "org/model" ',
      ]) {
        await name(page, form);
        await page.waitForFunction(
          () => document.getElementById('model-status').dataset.tone === 'good',
        );
        assert.match(await status(page), /org\/model/, form);
        await name(page, '');
      }
      await name(page, `${hub.url}/datasets/org/data`);
      assert.match(await refused(page), /is a dataset; expected a model/);
      await name(page, 'https://example.org/org/model');
      assert.match(await refused(page), /example\.org.*hub address/s);
    }));

  test('another hub can be set, but not over plain http', () =>
    visit({}, async ({page, hub}) => {
      await page.click('#more summary');
      await page.fill('#endpoint', 'http://example.org');
      await page.press('#endpoint', 'Tab');
      assert.equal(await page.getAttribute('#endpoint', 'aria-invalid'), 'true');
      assert.match(await page.textContent('#endpoint-help'), /https/);
      await page.fill('#endpoint', hub.url.replace('127.0.0.1', 'localhost'));
      await page.press('#endpoint', 'Tab');
      assert.match(await page.textContent('#privacy'), /localhost/);
      await name(page, 'org/model');
      await verdict(page);
    }));
}
