import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentMember } from '@reeve/contract'
import { serversFindings } from './servers-check.ts'

type Case = readonly [
  name: string,
  statuses: readonly AgentMember['Status'][],
  says: readonly string[],
]

const cases: readonly Case[] = [
  ['of one server there is nothing to say', ['alive'], []],
  ['all servers are there', ['alive', 'alive', 'leaving'], ['ok 3 of 3 servers are there.']],
  ['one that was stopped is not missed', ['alive', 'left'], []],
  [
    'one that has failed is named',
    ['alive', 'failed', 'alive', 'left'],
    ['ok 2 of 3 servers are there.', 'warning Nothing is heard of "s1".'],
  ],
  [
    'of many only some are named',
    ['alive', ...Array.from({ length: 6 }, () => 'failed' as const)],
    [
      'ok 1 of 7 servers are there.',
      'warning Nothing is heard of "s1", "s2", "s3", "s4", "s5" and others.',
    ],
  ],
]

for (const [name, statuses, says] of cases)
  test(`doctor: ${name}`, () => {
    const members = statuses.map((Status, at) => ({ Name: `s${at}`, Status }))
    assert.deepEqual(
      serversFindings(members).map(({ state, what }) => `${state} ${what}`),
      says,
    )
  })
