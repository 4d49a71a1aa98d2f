// From a model to a verdict, in every way a config can arrive, and what each control does to it.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {kSample, name, otherPeak, picture, tensorPeak, verdict, visit} from '../harness.mjs';

const kAnswers = ['fits', 'too_close', 'does_not_fit'];
const kFile = {name: 'config.json', mimeType: 'application/json', buffer: Buffer.from(kSample)};

export function journeys() {
  test('a hub id leads to a verdict', () =>
    visit({}, async ({page, hub}) => {
      await name(page, 'org/model');
      assert.ok(kAnswers.includes(await verdict(page)));
      assert.match(
        await page.textContent('#model-status'),
        /Read the config\.json of org\/model at 0123456/,
      );
      for (const {authorization, referrer, cookie} of hub.asked)
        assert.deepEqual([authorization, referrer, cookie], [undefined, undefined, undefined]);
      for (const block of [
        '#capacity svg[role=img]',
        '#peak-table tbody tr',
        '#timeline svg[role=img]',
        '#phase-table tbody tr',
        '#provenance li',
      ])
        assert.ok((await page.locator(block).count()) > 0, block);
      await picture(page, 'verdict');
      await picture(page, 'verdict-whole', {fullPage: true});
    }));

  test('typing alone is enough, once it pauses', () =>
    visit({}, async ({page, hub}) => {
      await page.type('#model', 'org/model', {delay: 20});
      await verdict(page);
      assert.deepEqual(hub.asked.map(({path}) => path)[0], '/org/model/resolve/main/config.json');
      assert.equal(hub.asked.length, 2, 'one look-up and its redirect');
    }));

  test('a pasted config.json leads to a verdict and keeps its lines', () =>
    visit({}, async ({page, hub}) => {
      await page.evaluate((text) => {
        const data = new DataTransfer();
        data.setData('text/plain', text);
        const input = document.getElementById('model');
        input.focus();
        input.dispatchEvent(
          new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}),
        );
      }, kSample);
      await verdict(page);
      assert.equal(await page.inputValue('#config-text'), kSample);
      assert.match(await page.textContent('#model-status'), /a link cannot carry it/);
      assert.equal(hub.asked.length, 0, 'nothing is asked of the hub');
    }));

  test('a config.json typed into the box counts too', () =>
    visit({}, async ({page}) => {
      await page.fill('#model', JSON.stringify(JSON.parse(kSample)));
      await verdict(page);
    }));

  test('an opened file leads to a verdict', () =>
    visit({}, async ({page}) => {
      await page.setInputFiles('#file', kFile);
      await verdict(page);
      assert.match(await page.textContent('#model-status'), /Read from config\.json/);
    }));

  test('a file dropped anywhere leads to a verdict', () =>
    visit({}, async ({page}) => {
      const data = await page.evaluateHandle((text) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([text], 'config.json', {type: 'application/json'}));
        return transfer;
      }, kSample);
      await page.dispatchEvent('footer', 'dragenter', {dataTransfer: data});
      assert.equal(await page.locator('html.dropping').count(), 1);
      await page.dispatchEvent('footer', 'drop', {dataTransfer: data});
      await verdict(page);
      assert.equal(await page.locator('html.dropping').count(), 0);
    }));

  test('weights instead of a config are refused with a word on what to drop', () =>
    visit({}, async ({page}) => {
      await page.setInputFiles('#file', {
        name: 'model.safetensors',
        mimeType: 'application/octet-stream',
        buffer: Buffer.from('x'),
      });
      await page.waitForSelector('#model-status[data-tone=bad]');
      assert.match(
        await page.textContent('#model-status'),
        /drop the config\.json that lies beside it/,
      );
    }));

  test('every control changes the answer at once', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      let peak = await tensorPeak(page);
      const changes = {
        'method full': () => page.check('#method input[value=full]', {force: true}),
        'method qlora': () => page.check('#method input[value=qlora]', {force: true}),
        batch: () => page.fill('#batch', '3'),
        'larger batch': () => page.click('[data-step="1"]'),
        length: () => page.fill('#length', '1024'),
        'length by slider': () => page.press('#length-slider', 'ArrowRight'),
        checkpointing: () => page.uncheck('#checkpointing', {force: true}),
      };
      for (const [what, change] of Object.entries(changes)) {
        await change();
        const next = await otherPeak(page, peak);
        assert.notEqual(next, peak, what);
        peak = next;
      }
    }));

  test('what would make it fit comes after the answer', () =>
    visit({}, async ({page}) => {
      await page.fill('#model', 'org/model');
      await verdict(page);
      assert.equal(await page.isVisible('#changes-block'), false);
      await page.fill('#gpu', 'RTX 3060 12GB');
      await page.keyboard.press('Enter');
      await page.fill('#batch', '64');
      await page.waitForSelector('#verdict[data-answer=does_not_fit]');
      await page.waitForSelector('#changes-block:not([hidden]) li');
      const changes = await page.locator('#changes li').allTextContents();
      assert.ok(changes.length > 0 && changes.length <= 3, `${changes.length} changes`);
      for (const change of changes) assert.match(change, /saves .* needs /);
      await page.fill('#batch', '1');
      await page.fill('#gpu', 'H100 80GB');
      await page.keyboard.press('Enter');
      await page.waitForSelector('#verdict[data-answer=fits]');
      assert.equal(await page.isVisible('#changes-block'), false);
    }));

  test('another card changes the verdict, and a custom one asks for its memory', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      for (const [typed, card] of [
        ['4060', 'RTX 4060 8GB'],
        ['NVIDIA GeForce RTX 4060 Laptop GPU', 'RTX 4060 Laptop 8GB'],
        ['rtx 3080 mobile 16gb', 'RTX 3080 Laptop 16GB'],
        ['4060 ti', null],
      ]) {
        await page.fill('#gpu', typed);
        await page.press('#gpu', 'Tab');
        if (card !== null) assert.equal(await page.inputValue('#gpu'), card, typed);
        else assert.match(await page.textContent('#gpu-status'), /4060 Ti 8GB, RTX 4060 Ti 16GB/);
      }
      await page.click('#gpu');
      await page.fill('#gpu', 'h100 80');
      await page.press('#gpu', 'Enter');
      await page.waitForFunction(() =>
        document.getElementById('facts').textContent.includes('Usable7'),
      );
      assert.equal(await verdict(page), 'fits');
      assert.match(await page.inputValue('#gpu'), /^H100/);
      await page.fill('#gpu', '');
      await page.press('#gpu', 'ArrowUp');
      await page.press('#gpu', 'End');
      await page.locator('#gpu-list .custom').click();
      await page.fill('#vram', '2');
      await page.waitForSelector('#verdict[data-answer=does_not_fit]');
      await picture(page, 'does-not-fit');
    }));

  test('a value out of range is marked, waits, and goes back', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      const peak = await tensorPeak(page);
      await page.fill('#batch', '0');
      assert.equal(await page.getAttribute('#batch', 'aria-invalid'), 'true');
      await page.press('#batch', 'Tab');
      assert.equal(await page.inputValue('#batch'), '1');
      assert.equal(await tensorPeak(page), peak);
    }));

  test('a mistake in the config names its place and leads there', () =>
    visit({}, async ({page}) => {
      await page.click('#config-details summary');
      await page.fill('#config-text', '{\n  "hidden_size": 2048,\n');
      await page.waitForSelector('#answer-errors .errors li');
      const error = await page.textContent('#answer-errors');
      assert.match(error, /E01\d\d/);
      await page.locator('#answer-errors button.link').first().click();
      assert.equal(await page.evaluate(() => document.activeElement.id), 'config-text');
      await picture(page, 'errors');
    }));

  test('the numbers of a category unfold into its tensors', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      const row = page.locator('#peak-table button.category-name').first();
      assert.equal(await row.getAttribute('aria-expanded'), 'false');
      await row.click();
      assert.equal(await row.getAttribute('aria-expanded'), 'true');
      assert.ok((await page.locator('#peak-table tr.tensor:visible').count()) > 0);
    }));

  test('what is too small to matter is folded away, and opens', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      const before = await page.locator('#peak-table tr.category:visible').count();
      await page.click('#peak-table button.fold');
      assert.ok((await page.locator('#peak-table tr.category:visible').count()) >= before + 3);
      await page.fill('#length', '1024');
      await page.waitForTimeout(300);
      assert.equal(await page.getAttribute('#peak-table button.fold', 'aria-expanded'), 'true');
    }));

  test('a step that is not modelled is said so, without a guessed peak', () =>
    visit({module: 'fixture'}, async ({page}) => {
      await name(page, 'org/open');
      assert.equal(await verdict(page), 'not_modelled');
      assert.equal(await page.locator('#peak-block').isVisible(), false);
      await picture(page, 'not-modelled');
    }));

  test('the verdict reaches screen readers in one calm sentence', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      await page.waitForFunction(() =>
        /(Fits|Too close|Does not fit)/.test(document.getElementById('announce').textContent),
      );
      assert.equal(await page.getAttribute('#announce', 'aria-live'), 'polite');
    }));

  test('text and report can be taken along', () =>
    visit({context: {permissions: ['clipboard-read', 'clipboard-write']}}, async ({page}) => {
      await name(page, 'org/model');
      await verdict(page);
      await page.click('#copy-text');
      await page.waitForFunction(() => document.getElementById('copied').textContent !== '');
      const text = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(text, /^org\/model at 0123456\nSettings: /);
      for (const setting of [
        'method lora',
        'max_length 2048',
        'gradient_checkpointing true',
        'gpu.name RTX 4090 24GB',
        'optim adamw_torch_fused',
      ])
        assert.ok(text.includes(setting), `${setting} in ${text}`);
      await page.click('#copy-link');
      await page.waitForFunction(
        () => document.getElementById('copied').textContent === 'Link copied',
      );
      assert.match(
        await page.evaluate(() => navigator.clipboard.readText()),
        /#v=1&m=org\/model@0123456789abcdef0123456789abcdef01234567/,
      );
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.click('#download'),
      ]);
      assert.equal(download.suggestedFilename(), 'peakline-report.json');
    }));

  test('the text of a pasted config says which model and which settings', () =>
    visit({context: {permissions: ['clipboard-read', 'clipboard-write']}}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      const before = await tensorPeak(page);
      await page.locator('#more > summary').click();
      await page.fill('#setting-lora-r', '64');
      await otherPeak(page, before);
      await page.click('#copy-text');
      await page.waitForFunction(() => document.getElementById('copied').textContent !== '');
      const text = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(text, /^A sample.*: llama, 22 layers, 1\.1\d billion parameters\n/);
      assert.match(text, /Settings: .*lora\.r 64/);
    }));

  test('the settings of a 4-bit base can be chosen', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      await page.locator('#more > summary').click();
      const ids = ['prepare-model-for-kbit-training', 'bnb-4bit-use-double-quant'];
      for (const id of ids)
        assert.equal(await page.isVisible(`#setting-quantization-${id}`), false, id);
      let peak = await tensorPeak(page);
      await page.check('#method input[value=qlora]', {force: true});
      peak = await otherPeak(page, peak);
      for (const id of ids) {
        assert.equal(await page.isChecked(`#setting-quantization-${id}`), true, id);
        await page.uncheck(`#setting-quantization-${id}`, {force: true});
        peak = await otherPeak(page, peak);
      }
    }));

  test('what nobody chose is not called chosen', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      await page.locator('#setup-details > summary').click();
      const from = (key) =>
        page
          .locator('#setup-table tr')
          .filter({has: page.locator(`code:text-is("${key}")`)})
          .locator('.origin')
          .textContent();
      for (const key of ['gradient_checkpointing', 'max_length', 'gpu.name', 'lora.r'])
        assert.equal(await from(key), 'page default', key);
      assert.equal(await from('optim'), "the trainer's default");
      const before = await tensorPeak(page);
      await page.fill('#length', '1024');
      await otherPeak(page, before);
      assert.equal(await from('max_length'), 'chosen here');
      assert.equal(await from('lora.r'), 'page default');
    }));

  test('a name that is no card is not passed over in silence', () =>
    visit({}, async ({page}) => {
      await page.click('#sample');
      await verdict(page);
      await page.fill('#gpu', 'RTX 3071');
      await page.press('#gpu', 'Tab');
      assert.equal(await page.inputValue('#gpu'), 'RTX 4090 24GB');
      const said = await page.textContent('#gpu-status');
      assert.match(said, /RTX 3071.* is no card of the list/);
      assert.match(said, /still for RTX 4090 24GB/);
      await page.fill('#gpu', 'A100');
      await page.press('#gpu', 'Tab');
      assert.match(await page.textContent('#gpu-status'), /A100 40GB, A100 80GB: pick one/);
      await picture(page, 'no-such-card');
      await page.fill('#gpu', 'A100 80');
      await page.press('#gpu', 'Tab');
      assert.equal(await page.inputValue('#gpu'), 'A100 80GB');
      assert.equal(await page.textContent('#gpu-status'), '');
    }));

  test('a config that cannot be used turns its status red, and back', () =>
    visit({}, async ({page}) => {
      await page.click('#config-details summary');
      await page.fill('#config-text', '{"model_type": "llama", ');
      await page.waitForSelector('#answer-errors .errors li');
      const tone = () => page.getAttribute('#model-status', 'data-tone');
      assert.equal(await tone(), 'wrong');
      assert.match(await page.textContent('#model-status'), /cannot be used as it stands/);
      assert.equal(
        await page
          .locator('#model-status p')
          .first()
          .evaluate((line) => getComputedStyle(line).borderLeftColor),
        await page.evaluate(() => {
          const probe = document.body.appendChild(document.createElement('i'));
          probe.style.color = 'var(--bad)';
          const colour = getComputedStyle(probe).color;
          probe.remove();
          return colour;
        }),
      );
      await page.fill('#config-text', kSample);
      await verdict(page);
      assert.equal(await tone(), 'good');
      assert.doesNotMatch(await page.textContent('#model-status'), /cannot be used/);
    }));
}
