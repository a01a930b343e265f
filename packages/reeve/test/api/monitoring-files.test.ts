import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { STATE_METRICS } from '../../src/http/metrics/state-metrics.ts'
import { serverMetrics } from '../../src/main/server-metrics.ts'
import { openTracing } from '../../src/main/tracing/tracing.ts'
import { anAgentConfig } from '../build/agent-config.ts'
import { createTestServer } from './harness.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const ALERTS = 'packaging/monitoring/alerts.yaml'
const DASHBOARD = 'packaging/monitoring/dashboard.json'
const PAGE = 'docs/how-to/monitor.md'

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const silent = (): void => undefined

/** Every metric that a server with all of its optional parts has, with its labels. */
async function knownMetrics(t: TestContext): Promise<ReadonlySet<string>> {
  const server = await createTestServer({ aclEnabled: false })
  t.after(() => server.close())
  await server.send('GET', '/v1/jobs')
  const { text } = await server.send('GET', '/v1/metrics?format=prometheus')
  const names = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
  )
  const optional = serverMetrics({
    replication: { lagMs: 0 },
    memory: { usedRatio: 0 },
    backups: { ageMs: 0 },
    commits: { commitWaitMs: 0 },
    certificate: { expiresAtMs: 0 },
    disk: { ratio: 1, bytes: 1 },
  })
  const tracing = openTracing(
    anAgentConfig({
      flags: { dev: true },
      environment: { REEVE_TRACING_ENDPOINT: 'http://127.0.0.1:4318' },
    }),
    { log: { debug: silent, info: silent, warn: silent, error: silent }, version: '0.0.0' },
  )
  const further = { ...optional, ...tracing?.metrics, ...STATE_METRICS }
  return new Set([...names, ...Object.keys(further).map((name) => `service_${name}`)])
}

test('alerts, dashboard and the page on monitoring name only metrics that exist', async (t) => {
  const known = await knownMetrics(t)
  for (const file of [ALERTS, DASHBOARD, PAGE]) {
    const named = new Set(read(file).match(/\bservice_\w+/g))
    assert.ok(named.size > 5, file)
    assert.deepEqual(
      [...named].filter((name) => !known.has(name)),
      [],
      file,
    )
  }
})

test('alerts: each has a name of its own, a severity and a summary', () => {
  const { groups }: { groups: { rules: Record<string, Record<string, unknown>>[] }[] } = parse(
    read(ALERTS),
  )
  const rules = groups.flatMap((group) => group.rules)
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  for (const { alert, expr, labels, annotations } of rules) {
    const name = JSON.stringify(alert)
    assert.equal(typeof expr, 'string', name)
    assert.match(JSON.stringify(labels?.['severity']), /^"(?:critical|warning|info)"$/, name)
    assert.equal(typeof annotations?.['summary'], 'string', name)
  }
})

test('alerts: pages that they name exist', () => {
  const pages = [...read(ALERTS).matchAll(/docs\/[\w/-]+\.md/g)].map(([page]) => page)
  assert.ok(pages.length > 3)
  const isThere = (page: string): boolean => existsSync(join(ROOT, page))
  assert.deepEqual(
    pages.filter((page) => !isThere(page)),
    [],
  )
})

test('dashboard: panels have titles and ids of their own, and no fixed data source', () => {
  const { panels }: { panels: { id: number; title: string; datasource: { uid: string } }[] } =
    JSON.parse(read(DASHBOARD))
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length)
  for (const { datasource } of panels) assert.equal(datasource.uid, '${datasource}')
})

test('names of metrics follow the rules that promtool checks', async (t) => {
  const server = await createTestServer({ aclEnabled: false })
  t.after(() => server.close())
  const { text } = await server.send('GET', '/v1/metrics?format=prometheus')
  const reported = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
  const ofState = Object.entries(STATE_METRICS)
  const types = [
    ...reported.map(([, name = '', type = '']) => [name, type] as const),
    ...ofState.map(([name]) => [`service_${name}`, 'gauge'] as const),
  ]
  const helped = new Set([
    ...[...text.matchAll(/^# HELP (\w+) \S/gm)].map(([, name]) => name),
    ...ofState.map(([name]) => `service_${name}`),
  ])
  const problems = types.flatMap(([name, type]) => [
    ...(name.endsWith('_total') === (type === 'counter') ? [] : [`${name}: _total is of counters`]),
    ...(/_(?:count|sum|bucket|info_total)$/.test(name) ? [`${name}: a part of a histogram`] : []),
    ...(/_(?:counter|gauge|histogram|summary)(?:_|$)/.test(name) ? [`${name}: its type`] : []),
    ...(/[A-Z]|_(?:ms|milliseconds|minutes|kb|mb)(?:_|$)/.test(name) ? [`${name}: its unit`] : []),
    ...(helped.has(name) ? [] : [`${name}: no help`]),
  ])
  assert.deepEqual(problems, [])
  assert.ok(types.length > 40)
})
