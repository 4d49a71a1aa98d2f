// All journeys, one after the other in one browser.
import {after, before, test} from 'node:test';
import {moduleIsThere, start, stop} from './harness.mjs';
import * as access from './journeys/access.mjs';
import * as hub from './journeys/hub.mjs';
import * as link from './journeys/link.mjs';
import * as resilience from './journeys/resilience.mjs';
import * as verdict from './journeys/verdict.mjs';

if (moduleIsThere()) {
  before(start);
  after(stop);
  for (const {journeys} of [verdict, hub, link, resilience, access]) journeys();
} else {
  test('the module of the page is built', () => {
    throw new Error(
      'site/wasm/peakline.wasm is missing: build the wasm preset first, or set PEAKLINE_PAGE_MODULE=fixture',
    );
  });
}
