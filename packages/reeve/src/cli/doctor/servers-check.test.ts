import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentMember } from '@reeve/contract'
import { serversFindings } from './server-checks.ts'

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
    ['ok 2 of 3 servers are there.', 'warning Server "s1" is not responding.'],
  ],
  [
    'of many only some are named',
    ['alive', ...Array.from({ length: 6 }, () => 'failed' as const)],
    [
      'ok 1 of 7 servers are there.',
      'warning Servers "s1", "s2", "s3", "s4", "s5" and others are not responding.',
    ],
  ],
]

for (const [name, statuses, says] of cases)
  test(`doctor: ${name}`, () => {
    const Tags = { region: 'us' }
    const members = statuses.map((Status, at) => ({ Name: `s${at}`, Status, Tags }))
    assert.deepEqual(
      serversFindings(members, 'us').map(({ state, what }) => `${state} ${what}`),
      says,
    )
  })

test('doctor: servers of other regions have no database in common with these', () => {
  const members = [
    { Name: 's0', Status: 'alive', Tags: { region: 'us' } },
    { Name: 's1', Status: 'failed', Tags: { region: 'us' } },
    { Name: '10.2.0.1:4646', Status: 'failed', Tags: { region: 'eu' } },
  ] as const
  const warnings = serversFindings(members, 'us').filter(({ state }) => state === 'warning')
  assert.deepEqual(
    warnings.map(({ what }) => what),
    ['Server "s1" is not responding.', 'Server "10.2.0.1:4646" is not responding.'],
  )
  assert.match(warnings[0]?.next ?? '', /reaches the database/)
  assert.match(warnings[1]?.next ?? '', /network and the certificates between the regions/)
  assert.doesNotMatch(warnings[1]?.next ?? '', /database/)
})
