// The right-hand side: one report, or the reason why there is none.
import {byId, debounced, h} from './dom.mjs';
import {showCapacity} from './view/capacity.mjs';
import {showChanges} from './view/changes.mjs';
import {showMoment, showPeakTable, showPhaseTable} from './view/peak_table.mjs';
import {showKinds, showNotes, showProvenance} from './view/provenance.mjs';
import {showSetup} from './view/setup_table.mjs';
import {showTimeline, showTimelineTable} from './view/timeline.mjs';
import {shortVerdict, showFacts, showVerdict, showWaiting} from './view/verdict.mjs';

const kCalmMilliseconds = 600;

export class Answer {
  #report = null;
  #announce = debounced(kCalmMilliseconds, (sentence) => {
    byId('announce').textContent = sentence;
  });

  constructor() {
    byId('timeline-details').addEventListener('toggle', () => this.#fillTimelineTable());
    const redraw = debounced(60, () => this.#draw());
    new ResizeObserver(redraw).observe(byId('answer'));
    this.#followVerdict();
  }

  // The verdict in a word or two, with its interval.
  get short() {
    return shortVerdict(this.#report);
  }

  get report() {
    return this.#report;
  }

  // Nothing to show yet: what is missing, in words.
  waiting(headline, sentence) {
    this.#clear();
    byId('explain').hidden = false;
    showWaiting(byId('verdict'), headline, sentence);
    this.#say(`${headline}. ${sentence}`, headline);
  }

  // Another model is on its way: the old report stays in place, but pale and out of reach.
  reading(headline, sentence) {
    showWaiting(byId('verdict'), headline, sentence);
    byId('answer-errors').hidden = true;
    byId('answer-body').inert = true;
  }

  // The report stays while its successor is computed.
  busy(on) {
    byId('answer').setAttribute('aria-busy', String(on));
  }

  // `go(where)` leads to the place an error speaks of; null where the page has none.
  errors(errors, go) {
    this.#clear();
    const many = errors.length > 1 ? `${errors.length} things` : 'One thing';
    showWaiting(byId('verdict'), 'No answer', `${many} in the input cannot be used.`);
    const box = byId('answer-errors');
    box.hidden = false;
    box.replaceChildren(
      h(
        'ul',
        {class: 'errors'},
        errors.map((error) => this.#error(error, go(error.where ?? ''))),
      ),
    );
    this.#say(`No answer. ${errors.map(({message}) => message).join(' ')}`, 'No answer');
  }

  // The module failed, not the input.
  failure(headline, sentence, details, again) {
    this.#clear();
    showWaiting(byId('verdict'), headline, sentence);
    const box = byId('answer-errors');
    box.hidden = false;
    box.replaceChildren(
      h('p', {}, h('button', {type: 'button', onclick: again}, 'Try again')),
      h(
        'details',
        {class: 'twin'},
        h('summary', {}, 'Details for a bug report'),
        h('pre', {tabindex: '0'}, details.join('\n')),
      ),
    );
    this.#say(`${headline}. ${sentence}`, headline);
  }

  // `untouched`: keys of the setup that have the page's own first value.
  show(report, untouched = new Set()) {
    this.#clear();
    this.#report = report;
    byId('answer-body').hidden = false;
    showVerdict(byId('verdict'), report);
    showFacts(byId('facts'), report);
    const {memory} = report;
    for (const id of ['peak-block', 'step-block']) byId(id).hidden = !memory;
    if (memory) {
      showMoment(byId('moment'), memory);
      showPeakTable(byId('peak-table'), memory);
      showPhaseTable(byId('phase-table'), memory);
    }
    this.#showChanges(report);
    byId('assumed-block').hidden = report.provenance.length === 0;
    showKinds(byId('kinds'), report.provenance);
    showProvenance(byId('provenance'), report.provenance);
    byId('notes-block').hidden = report.notes.length === 0;
    showNotes(byId('notes'), report.notes);
    showSetup(byId('setup-table'), report.setup, report.origins, untouched);
    this.#draw();
    this.#fillTimelineTable();
    this.#say(report.verdict.sentence, shortVerdict(report));
  }

  // What comes after the answer, since it takes runs of its own.
  showAdvice(report) {
    this.#report = report;
    showFacts(byId('facts'), report);
    this.#showChanges(report);
    showProvenance(byId('provenance'), report.provenance);
  }

  #showChanges({changes, verdict}) {
    const list = byId('changes');
    showChanges(list, changes, verdict.streaming);
    byId('changes-block').hidden = list.childElementCount === 0;
  }

  #error({code, where, message, hint}, control) {
    const place = where
      ? control
        ? h('button', {type: 'button', class: 'link', onclick: control}, where)
        : h('code', {}, where)
      : null;
    return h(
      'li',
      {},
      h('p', {}, place, place ? ': ' : '', message),
      hint ? h('p', {class: 'hint'}, hint) : null,
      h('span', {class: 'details'}, code),
    );
  }

  #clear() {
    this.#report = null;
    byId('answer-body').inert = false;
    for (const id of ['answer-body', 'answer-errors', 'explain']) byId(id).hidden = true;
    byId('answer-errors').replaceChildren();
  }

  // One sentence once things are calm, and the bar at the foot of a small screen at once.
  #say(sentence, short) {
    this.#announce(sentence);
    const pocket = byId('pocket');
    pocket.replaceChildren(h('span', {}, short));
    pocket.dataset.answer = byId('verdict').dataset.answer;
  }

  #draw() {
    if (!this.#report?.memory) return;
    showCapacity(byId('capacity'), this.#report);
    showTimeline(byId('timeline'), this.#report);
  }

  #fillTimelineTable() {
    if (byId('timeline-details').open && this.#report?.memory)
      showTimelineTable(byId('timeline-table'), this.#report);
  }

  #followVerdict() {
    const pocket = byId('pocket');
    new IntersectionObserver(([entry]) => {
      pocket.hidden = entry.isIntersecting || entry.boundingClientRect.top < 0;
    }).observe(byId('verdict'));
    pocket.addEventListener('click', () => {
      byId('answer').scrollIntoView({
        behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth',
      });
      byId('answer').focus({preventScroll: true});
    });
  }
}
