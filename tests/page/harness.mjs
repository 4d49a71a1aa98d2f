// What the journeys share: one browser, one page server, one stand-in hub, a fresh context per test.
import {chromium} from 'playwright-core';
import {existsSync} from 'node:fs';
import {mkdir, readFile} from 'node:fs/promises';
import {fileURLToPath} from 'node:url';
import {serveHub, servePage} from './server.mjs';

// PEAKLINE_SITE=build/site: the page as it is delivered, in place of its sources.
const kProject = new URL('../../', import.meta.url);
const kSite = fileURLToPath(new URL(`${process.env.PEAKLINE_SITE ?? 'site'}/`, kProject));
const kFixtures = fileURLToPath(new URL('fixtures/', import.meta.url));
const kArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const kSample = await readFile(`${kSite}sample_config.json`, 'utf8');
// PEAKLINE_PAGE_MODULE=fixture runs every journey against the stand-in module.
export const kModule = process.env.PEAKLINE_PAGE_MODULE ?? 'built';
const kShots = process.env.PEAKLINE_SCREENSHOTS; // a folder for pictures; none are taken without it

let browser;
let hub;
const servers = new Map();

export function moduleIsThere() {
  return kModule === 'fixture' || existsSync(`${kSite}wasm/peakline.wasm`);
}

export async function start() {
  hub = await serveHub({
    configs: {
      'org/model': kSample,
      'org/renamed': kSample,
      'org/other': kSample.replace('"num_hidden_layers": 22', '"num_hidden_layers": 44'),
      'org/abort': '{"fixture": "abort"}',
      'org/hang': '{"fixture": "hang"}',
      'org/open': '{"fixture": "not_modelled"}',
      'org/odd': '{"fixture": "odd"}',
      'org/babble': '{"fixture": "babble"}',
    },
  });
  browser = await chromium.launch({
    executablePath: process.env.PEAKLINE_CHROMIUM ?? '/usr/bin/chromium',
    args: kArguments,
  });
}

export async function stop() {
  await browser?.close();
  hub?.close();
  for (const server of servers.values()) server.close();
}

// The page as it is delivered, or with the stand-in module, below a prefix, or with files left out.
export async function server({module = kModule, prefix = '/', hidden = []} = {}) {
  const key = JSON.stringify([module, prefix, hidden]);
  if (!servers.has(key))
    servers.set(
      key,
      await servePage({
        folders: module === 'fixture' ? [kFixtures, kSite] : [kSite],
        prefix,
        hidden,
      }),
    );
  return servers.get(key);
}

const kExpected = [/Failed to load resource/, /Failed to execute 'postMessage'/];

// Runs `journey({page, context, hub, url, problems})` on an open page. Unexpected messages on the
// console and uncaught errors fail it.
export async function visit({hash = '', context: options = {}, before = null, ...served}, journey) {
  const {url} = await server(served);
  hub.asked.length = 0;
  Object.assign(hub.state, {delay: 0, limited: false});
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (
      ['error', 'warning'].includes(message.type()) &&
      !kExpected.some((known) => known.test(message.text()))
    )
      problems.push(message.text());
  });
  try {
    await before?.({page, context});
    const address = `${url}?endpoint=${encodeURIComponent(hub.url)}${hash}`;
    await page.goto(address);
    await journey({page, context, hub, url, address, problems});
    if (problems.length > 0) throw new Error(`the page complained: ${problems.join('; ')}`);
  } finally {
    await context.close();
  }
}

export async function name(page, model) {
  await page.fill('#model', model);
  await page.press('#model', 'Enter');
}

// The answer on show: fits, too_close, does_not_fit or not_modelled.
export async function verdict(page) {
  await page.waitForSelector('#answer-body:not([hidden]):not([inert])');
  return page.getAttribute('#verdict', 'data-answer');
}

export async function tensorPeak(page) {
  return page.locator('#facts .fact', {hasText: 'Tensors'}).locator('.bytes').getAttribute('title');
}

// Waits until the number of bytes alive at the peak is another one.
export async function otherPeak(page, before) {
  await page.waitForFunction((old) => {
    const facts = [...document.querySelectorAll('#facts .fact')];
    const title = facts
      .find((fact) => fact.textContent.startsWith('Tensors'))
      ?.querySelector('.bytes')?.title;
    return title !== undefined && title !== old;
  }, before);
  return tensorPeak(page);
}

export async function status(page) {
  return page.textContent('#model-status');
}

export async function refused(page) {
  await page.waitForSelector('#model-status[data-tone=bad]');
  return status(page);
}

export async function picture(page, title, options = {}) {
  if (kShots === undefined) return;
  await mkdir(kShots, {recursive: true});
  await page.screenshot({path: `${kShots}/${title}.png`, ...options});
}
