import assert from 'node:assert/strict'
import { test } from 'node:test'
import { triggersEvaluations, nextNodeStatus, type NodeStatusInputs } from './node.ts'

const FACTS: NodeStatusInputs = { awaitsReports: false, hasPool: true, mayReconnect: false }

const moves = [
  { name: 'a new node that says hello is ready', from: undefined, contact: 'hello', to: 'ready' },
  {
    name: 'a new node waits for its pool',
    from: undefined,
    contact: 'hello',
    facts: { hasPool: false },
    to: 'initializing',
  },
  {
    name: 'an initializing node is ready with its next heartbeat',
    from: 'initializing',
    contact: 'heartbeat',
    to: 'ready',
  },
  {
    name: 'an initializing node is held back until it has told how its allocations are',
    from: 'initializing',
    contact: 'heartbeat',
    facts: { awaitsReports: true },
    to: 'initializing',
  },
  {
    name: 'an initializing node is held back while its pool does not exist',
    from: 'initializing',
    contact: 'heartbeat',
    facts: { hasPool: false },
    to: 'initializing',
  },
  {
    name: 'a ready node that is connected anew stays ready, whatever it has to tell',
    from: 'ready',
    contact: 'hello',
    facts: { awaitsReports: true },
    to: 'ready',
  },
  { name: 'a silent node is down', from: 'ready', contact: 'silence', to: 'down' },
  {
    name: 'a silent node with something that may come back is disconnected',
    from: 'ready',
    contact: 'silence',
    facts: { mayReconnect: true },
    to: 'disconnected',
  },
  {
    name: 'a node that falls silent while it initializes goes like any other',
    from: 'initializing',
    contact: 'silence',
    facts: { mayReconnect: true },
    to: 'disconnected',
  },
  {
    name: 'a disconnected node is never straight ready',
    from: 'disconnected',
    contact: 'hello',
    to: 'initializing',
  },
  {
    name: 'a disconnected node stays so while something may come back',
    from: 'disconnected',
    contact: 'silence',
    facts: { mayReconnect: true },
    to: 'disconnected',
  },
  {
    name: 'a disconnected node is down once nothing can come back',
    from: 'disconnected',
    contact: 'silence',
    to: 'down',
  },
  { name: 'a node that was down is ready again', from: 'down', contact: 'hello', to: 'ready' },
  {
    name: 'a node that was down too briefly to lose its allocations tells how they are first',
    from: 'down',
    contact: 'hello',
    facts: { awaitsReports: true },
    to: 'initializing',
  },
  {
    name: 'a node that is down stays so in silence',
    from: 'down',
    contact: 'silence',
    facts: { mayReconnect: true },
    to: 'down',
  },
] as const
for (const c of moves)
  test(`node status: ${c.name}`, () => {
    const facts = 'facts' in c ? { ...FACTS, ...c.facts } : FACTS
    assert.equal(nextNodeStatus(c.from, c.contact, facts), c.to)
  })

const news = [
  [undefined, 'ready', true],
  [undefined, 'initializing', false],
  ['initializing', 'ready', true],
  ['down', 'ready', true],
  ['down', 'initializing', false],
  ['ready', 'down', true],
  ['ready', 'disconnected', true],
  ['disconnected', 'initializing', true],
  ['disconnected', 'down', true],
  ['ready', 'ready', false],
] as const
for (const [before, after, isNews] of news)
  test(`node status: ${before} to ${after} ${isNews ? 'has' : 'does not have'} jobs evaluated`, () => {
    assert.equal(triggersEvaluations(before, after), isNews)
  })
