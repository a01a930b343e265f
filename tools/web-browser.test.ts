import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setUpBrowser, type BrowserMachine } from './setup/web-browser.mjs'

/** A machine that only notes what is done to it. */
function aMachine(facts: {
  readonly has?: string
  readonly isRoot?: boolean
  readonly wasTried?: boolean
  readonly complaint?: string
  /** What `complaint` is about; everything when it is not said. */
  readonly about?: string
}): BrowserMachine & { readonly notes: string[] } {
  const notes: string[] = []
  return {
    notes,
    has: (programs) => programs.some((program) => program === facts.has),
    canInstall: () => facts.isRoot ?? true,
    wasTried: () => facts.wasTried ?? false,
    noteTried: () => notes.push('tried'),
    apt: (args) => {
      notes.push(args.filter((arg) => !arg.startsWith('-') && !arg.includes('=')).join(' '))
      const isAbout = facts.about === undefined || args.includes(facts.about)
      return Promise.resolve(isAbout ? facts.complaint : undefined)
    },
    say: (sentence) => notes.push(sentence),
  }
}

const INSTALLING = 'Installing chromium for the tests of the web UI…'
const CASES = [
  { name: 'there is one', facts: { has: 'chromium-headless-shell' }, notes: [] },
  { name: 'nobody may install it', facts: { isRoot: false }, notes: [] },
  { name: 'it failed today', facts: { wasTried: true }, notes: [] },
  {
    name: 'it is missing',
    facts: {},
    notes: [
      INSTALLING,
      'update',
      'install chromium-headless-shell',
      'install chromium-headless-shell',
    ],
  },
  {
    name: 'the lighter one has no package here',
    facts: { complaint: 'no such package', about: 'chromium-headless-shell' },
    notes: [
      INSTALLING,
      'update',
      'install chromium-headless-shell',
      'install chromium',
      'install chromium',
    ],
  },
  {
    name: 'there is the heavier one',
    facts: { has: 'chromium' },
    notes: [
      INSTALLING,
      'update',
      'install chromium-headless-shell',
      'install chromium-headless-shell',
    ],
  },
  {
    name: 'there is the heavier one, and the lighter one has no package here',
    facts: { has: 'chromium', complaint: 'no such package', about: 'chromium-headless-shell' },
    notes: [INSTALLING, 'update', 'install chromium-headless-shell', 'tried'],
  },
  {
    name: 'the network is away',
    facts: { complaint: 'no network' },
    notes: [
      INSTALLING,
      'update',
      'tried',
      'The web UI is not tested in a browser: apt-get could not install chromium (no network).',
    ],
  },
]

for (const { name, facts, notes } of CASES)
  test(`a browser for the tests when ${name}`, async () => {
    const machine = aMachine(facts)
    await setUpBrowser('/nowhere', machine)
    assert.deepEqual(machine.notes, notes)
  })
