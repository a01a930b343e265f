import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ExperimentResult,
  formatDuration,
  formatOutcomes,
  isProved,
  type ProofExperiment,
} from './experiments.ts'
import { renderPage, type ProofRun } from './page.ts'

function aResult(name: string, fields: Partial<ExperimentResult> = {}): ExperimentResult {
  const experiment: ProofExperiment = {
    name,
    claim: `what ${name} shows`,
    script: ['none.ts'],
    weight: 1,
    secondsMin: 1,
    setUpSeconds: 0,
  }
  const base = { seed: 7, tookMs: 61_000, counts: { kills: 1_204 } }
  return { experiment, ...base, outcome: { kind: 'passed' }, ...fields }
}

function aRun(results: readonly ExperimentResult[]): ProofRun {
  return {
    commit: 'c0ffee',
    isModified: false,
    startedMs: Date.parse('2026-11-18T14:00:00.123Z'),
    minutes: 20,
    tookMs: 1_230_000,
    seed: 7,
    machine: {
      cores: 2,
      processor: 'a processor',
      memoryGiB: 24,
      fileSystem: 'ext4 (/tmp)',
      system: 'Linux 6.1 x86_64',
      node: '26.10.0',
      postgres: '15.4',
      load: 0.25,
    },
    results,
  }
}

const NOT_RUN = { kind: 'not run', reason: 'PostgreSQL is not installed' } as const
const FAILED = {
  kind: 'failed',
  reason: 'it ended with status 1',
  again: ['npm run sim -- --seed 77 --verbose'],
} as const

test('proof: the page has the commit, the machine, counts, seeds, durations and results', () => {
  const page = renderPage(aRun([aResult('kills'), aResult('faults', { outcome: NOT_RUN })]))
  for (const text of [
    '**1 passed, 0 failed, 1 not run** in 20 min 30 s.',
    '| commit | `c0ffee` |',
    '| date | 2026-11-18T14:00:00Z |',
    '| machine | 2 cores (a processor), 24 GiB memory |',
    '| PostgreSQL | 15.4 |',
    '| `kills` | passed | 1,204 kills | 7 | 1 min 1 s |',
    '| `faults` | not run: PostgreSQL is not installed |',
    '| `kills` | what kills shows |',
    '## What was not tested',
    'npm run proof -- --minutes 20 --seed 7',
  ])
    assert.ok(page.includes(text), `${text} in ${page}`)
})

test('proof: the page of a failed run has the command that repeats the failure', () => {
  const page = renderPage({ ...aRun([aResult('kills', { outcome: FAILED })]), isModified: true })
  assert.match(page, /\*\*0 passed, 1 failed\*\*/)
  assert.match(page, /`c0ffee`, with uncommitted changes/)
  assert.match(page, /\| `kills` \| \*\*failed\*\* \|/)
  assert.match(page, /`kills` failed: it ended with status 1\n\n```\nnpm run sim -- --seed 77/)
})

test('proof: only a run in which everything ran and passed is a proof', () => {
  assert.equal(isProved([aResult('a'), aResult('b')]), true)
  assert.equal(isProved([aResult('a'), aResult('b', { outcome: FAILED })]), false)
  assert.equal(isProved([aResult('a'), aResult('b', { outcome: NOT_RUN })]), false)
  assert.equal(isProved([]), false)
  assert.equal(formatOutcomes([aResult('a')]), '1 passed, 0 failed')
})

test('proof: durations are written in minutes and seconds', () => {
  assert.deepEqual([499, 59_400, 60_000, 3_661_000].map(formatDuration), [
    '0 s',
    '59 s',
    '1 min',
    '61 min 1 s',
  ])
})
