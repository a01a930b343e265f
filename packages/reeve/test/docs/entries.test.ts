import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import {
  EVENT_TOPICS,
  EVENT_TYPES,
  HOST_VOLUME_CAPABILITIES,
  NAMESPACE_CAPABILITIES,
  NODE_POOL_CAPABILITIES,
  OPERATOR_CAPABILITIES,
  TASK_EVENT_TYPES,
  v1Routes,
  v2,
  VARIABLE_CAPABILITIES,
} from '@reeve/contract'
import { err } from '@reeve/kit/result.ts'
import { BUILTINS as NATIVE_BUILTINS, STANDARD_IMPORTS } from '@reeve/native-policy'
import { BUILTINS as OPA_BUILTINS } from '@reeve/rego'
import { helpFlags } from '../../src/cli/global-flags.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { LOCAL_COMMANDS } from '../../src/cli/completion/completion.ts'
import {
  BODY_LIMITS,
  CHUNK_LIMITS,
  PIPELINING_LIMITS,
  SCHEDULER_LIMITS,
} from '../../src/http/index.ts'
import { CONTAINER_SETTINGS } from '../../src/drivers/docker/docker-config.ts'
import { EXEC_SETTINGS } from '../../src/drivers/exec/exec-driver.ts'
import { RAW_EXEC_SETTINGS } from '../../src/drivers/raw-exec/raw-exec-config.ts'
import { FILE_BLOCKS } from '../../src/jobspec/documentation/job-blocks.ts'
import { jobFunctions } from '../../src/jobspec/functions/functions.ts'
import { JOB } from '../../src/jobspec/schema/job.ts'
import type { BlockMapping } from '../../src/jobspec/schema/block-mapping.ts'
import { limitOptions } from '../../src/main/config/server-options.ts'
import { describeFilePath } from '../../src/main/config/option.ts'
import { optionEntries, options } from '../../src/main/config/options.ts'
import { LIMITS } from '../../src/model/index.ts'
import { withScheduler } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'

/** The pages are read as text: these tests share nothing with the tool that generates them. */
const ROOT = join(import.meta.dirname, '../../../..')
const REFERENCE = join(ROOT, 'docs/reference')

async function pageOf(path: string): Promise<string> {
  return await readFile(join(REFERENCE, path), 'utf8')
}

async function pagesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(join(REFERENCE, folder))).filter((name) => name.endsWith('.md'))
  const texts = await Promise.all(names.map((name) => pageOf(join(folder, name))))
  return new Map(names.map((name, at) => [basename(name, '.md'), texts[at] ?? '']))
}

/** The cells of each row of every table that begins with this heading. */
function rowsOf(page: string, head: string): readonly (readonly string[])[] {
  const tables = page.matchAll(new RegExp(String.raw`^\| ${head} \|.*\n.*\n((?:\|.*\n?)*)`, 'gm'))
  const lines = [...tables].flatMap(([, rows = '']) => rows.trim().split('\n'))
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|')),
  )
}

/** What stands between backquotes. */
function codesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
}

/** The names in the first column of the tables that begin with this heading. */
function namesIn(page: string, head: string): readonly string[] {
  return rowsOf(page, head).flatMap(([name = '']) => codesIn(name))
}

/** Compares both directions at once. */
function assertSame(documented: readonly string[], present: readonly string[], what: string): void {
  assert.notEqual(present.length, 0, what)
  const missing = present.filter((name) => !documented.includes(name))
  const stray = documented.filter((name) => !present.includes(name))
  assert.deepEqual({ missing, stray }, { missing: [], stray: [] }, what)
}

// Job files

/** Every block that may stand in a job, with the table of its arguments; undefined if free. */
function blocksOf(table: BlockMapping, found = new Map<string, BlockMapping | undefined>()) {
  for (const [name, row] of Object.entries(table.blocks)) {
    if (found.has(name)) continue
    const inner = row.form === 'free' ? undefined : row.table
    found.set(name, inner)
    if (inner !== undefined) blocksOf(inner, found)
  }
  return found
}

test('docs/reference/job-file: the pages and their arguments are those of the parser', async () => {
  const pages = await pagesIn('job-file')
  const blocks = new Map([['job', JOB], ...blocksOf(JOB)] as const)
  const others = ['README', 'functions', 'interpolation']
  assertSame(
    [...pages.keys()].filter((name) => !others.includes(name)),
    [...blocks.keys(), ...Object.keys(FILE_BLOCKS)],
    'blocks',
  )
  for (const [name, table] of blocks) {
    if (table === undefined) continue
    const page = pages.get(name) ?? ''
    const documented = [...namesIn(page, 'Argument'), ...linksIn(page)]
    const present = [...Object.keys(table.attributes), ...Object.keys(table.blocks)]
    if (documented.length > 0 || present.length > 0) assertSame(documented, present, name)
  }
})

/** The blocks that a page lists under `## Blocks`. */
function linksIn(page: string): readonly string[] {
  return rowsOf(page, 'Block').map(([link = '']) => /^\[([^\]]+)\]/.exec(link)?.[1] ?? '')
}

test('docs/reference/job-file/functions.md: the functions are those of job files', async () => {
  const none = () => err('no files')
  const files = { read: none, exists: none, list: none, absolute: String, home: () => undefined }
  const functions = jobFunctions({ files, random: { next: () => 0 }, nowMs: 0 })
  const documented = namesIn(await pageOf('job-file/functions.md'), 'Function')
  assertSame(
    documented.map((usage) => usage.replace(/\(.*$/, '')),
    [...functions.keys()],
    'functions',
  )
})

test('docs/reference/drivers.md: the settings of each driver are those that it accepts', async () => {
  const page = await pageOf('drivers.md')
  const drivers = { exec: EXEC_SETTINGS, raw_exec: RAW_EXEC_SETTINGS, docker: CONTAINER_SETTINGS }
  for (const [driver, settings] of Object.entries(drivers)) {
    const part = page.split(/^## /m).find((one) => one.startsWith(`\`${driver}\`\n`)) ?? ''
    assertSame(namesIn(part, String.raw`Setting \| Type`), Object.keys(settings), driver)
  }
})

// Commands

test('docs/reference/cli: the commands are those of the program', async () => {
  const pages = await pagesIn('cli')
  const documented = [...pages]
    .filter(([name]) => name !== 'README')
    .flatMap(([, page]) => [...page.matchAll(/^## (.+)$/gm)].map(([, path = '']) => path))
  const present = COMMANDS.flatMap(({ path, aliases = [] }) => [path, ...aliases])
  const local = LOCAL_COMMANDS.map(({ path }) => path)
  assertSame(documented, [...new Set([...present, ...local, 'options'])], 'commands')
})

test('docs/reference/cli: the flags of each command are those of the program', async () => {
  const pages = await pagesIn('cli')
  const common = namesIn(pages.get('README') ?? '', 'Flag')
  for (const spec of COMMANDS) {
    const page = pages.get(spec.path.split(' ')[0] ?? '') ?? ''
    const section = page.split(/^## /m).find((part) => part.startsWith(`${spec.path}\n`)) ?? ''
    const own = namesIn(section, 'Flag')
    const present = helpFlags(spec).map(({ usage }) => usage)
    const missing = present.filter((usage) => !own.includes(usage) && !common.includes(usage))
    const stray = own.filter((usage) => !present.includes(usage) && usage !== '-h, --help')
    assert.deepEqual({ missing, stray }, { missing: [], stray: [] }, spec.path)
  }
})

// Settings and limits

test('docs/reference/configuration.md: files, flags and variables are those of the options', async () => {
  const rows = rowsOf(await pageOf('configuration.md'), 'In a file')
  const column = (at: number) => rows.flatMap((row) => codesIn(row[at] ?? ''))
  const all = optionEntries.map(([, option]) => option)
  const files = all.flatMap(({ file }) => (file === undefined ? [] : [describeFilePath(file)]))
  const flags = all.flatMap(({ flag }) => (flag === undefined ? [] : [flag.long]))
  const variables = all.flatMap(({ environment = '' }) => (environment === '' ? [] : environment))
  assertSame(column(0), files, 'settings')
  assertSame(
    column(1).map((usage) => usage.split(' ')[0] ?? ''),
    flags,
    'flags',
  )
  assertSame(column(2), variables, 'variables of the environment')
})

test('docs/reference/limits.md: the limits are those of the program', async () => {
  const page = await pageOf('limits.md')
  assertSame(
    namesIn(page, 'Limit'),
    [LIMITS, BODY_LIMITS, CHUNK_LIMITS, PIPELINING_LIMITS, SCHEDULER_LIMITS].flatMap((limits) =>
      Object.keys(limits),
    ),
    'limits',
  )
  const settings = [...Object.values(limitOptions), options.requestsPerSecond]
  assertSame(
    namesIn(page, 'Setting'),
    settings.map(({ file = [] }) => describeFilePath(file)),
    'settings',
  )
})

// Metrics

/** Distributions have one name and several series. */
function metricOf(series: string): string {
  return series.replace(/_(?:bucket|sum|count)$/, '')
}

test('docs/reference/metrics.md: the metrics are those that a server reports', async () => {
  const page = await pageOf('metrics.md')
  const { server, run } = await withScheduler(await createTestServer({ aclEnabled: false }))
  await run()
  const { text } = await server.send('GET', '/v1/metrics?format=prometheus')
  const reported = [...text.matchAll(/^(service_\w+)/gm)].map(([, name = '']) => name)
  const declared = [...text.matchAll(/^# TYPE (service_\w+)/gm)].map(([, name = '']) => name)
  const parts = page.split(/^## /m)
  const inPart = (title: string) =>
    namesIn(parts.find((part) => part.startsWith(`${title}\n`)) ?? '', 'Metric')
  const documented = namesIn(page, 'Metric')
  const known = new Set(reported.map(metricOf))
  for (const name of [...known, ...declared])
    assert.ok(documented.includes(name) || documented.some((one) => metricOf(one) === name), name)
  assertSame(
    inPart('Jobs and nodes'),
    [...known].filter((name) =>
      /^service_(?:job_allocations|node_\w+ated|node_allocations)_/.test(name),
    ),
    'metrics of jobs and nodes',
  )
  await server.close()
})

test('docs, packaging/monitoring: every metric that is named is in the reference', async () => {
  const documented = namesIn(await pageOf('metrics.md'), 'Metric').map(metricOf)
  const folders = ['docs/how-to', 'docs/reference', 'packaging/monitoring']
  for (const folder of folders)
    for (const file of await readdir(join(ROOT, folder))) {
      if (!/\.(?:md|ya?ml|json)$/.test(file)) continue
      const text = await readFile(join(ROOT, folder, file), 'utf8')
      const named = [...text.matchAll(/(?<![\w/])service_[a-z_]+[a-z](?![\w*/.])/g)]
      const unknown = named
        .map(([name]) => metricOf(name))
        .filter((name) => !documented.includes(name) && !NO_METRICS.includes(name))
      assert.deepEqual(unknown, [], `${folder}/${file}`)
    }
})

/** Names of other things. */
const NO_METRICS: readonly string[] = ['service_acl_token', 'service_var']

// Events, rights, routes

test('docs/reference/events.md: topics and types are those of the stream and of tasks', async () => {
  const page = await pageOf('events.md')
  const rows = rowsOf(page, 'Topic')
  assertSame(namesIn(page, 'Topic'), EVENT_TOPICS, 'topics')
  assertSame(
    rows.flatMap(([, types = '']) => codesIn(types)),
    EVENT_TYPES,
    'types',
  )
  assertSame(namesIn(page, 'Event'), TASK_EVENT_TYPES, 'events of tasks')
})

const CAPABILITIES = {
  namespace: NAMESPACE_CAPABILITIES,
  node_pool: NODE_POOL_CAPABILITIES,
  host_volume: HOST_VOLUME_CAPABILITIES,
  operator: OPERATOR_CAPABILITIES,
  variables: VARIABLE_CAPABILITIES,
} as const

test('docs/reference/capabilities.md: the capabilities of each rule are those of the program', async () => {
  const parts = (await pageOf('capabilities.md')).split(/^## /m).slice(1)
  const titles = parts.map((part) => part.split('\n')[0] ?? '')
  assertSame(titles, Object.keys(CAPABILITIES), 'rules')
  for (const [rule, names] of Object.entries(CAPABILITIES)) {
    const part = parts.find((one) => one.startsWith(`${rule}\n`)) ?? ''
    assertSame(namesIn(part, 'Capability'), names, rule)
  }
})

test('docs/reference/api: the routes are those of the contract', async () => {
  const pages = [...(await pagesIn('api'))].filter(([name]) => !['README', 'types'].includes(name))
  assertSame(
    pages.flatMap(([, page]) => [...page.matchAll(/^## (\w+)$/gm)].map(([, id = '']) => id)),
    [...Object.values(v1Routes), ...Object.values(v2.v2Routes)].map(({ id }) => id),
    'routes',
  )
})

// Policy languages

test('docs/reference: functions and imports of policies are those of the languages', async () => {
  const native = await pageOf('native-policy.md')
  assertSame(namesIn(native, 'Function'), [...NATIVE_BUILTINS.keys()], 'native functions')
  assertSame(
    [...native.matchAll(/^### (.+)$/gm)].map(([, path = '']) => path),
    [...STANDARD_IMPORTS],
    'imports',
  )
  const opa = namesIn(await pageOf('opa-builtins.md'), 'Function')
  assertSame(opa, [...OPA_BUILTINS.keys()], 'built-in functions')
})

// README

test('README.md: fits 170 lines, and each measured figure can be repeated', async () => {
  const page = await readFile(join(ROOT, 'README.md'), 'utf8')
  assert.ok(page.trimEnd().split('\n').length <= 170)
  const manifest: unknown = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const benches = await readdir(join(ROOT, 'packages/reeve/bench'))
  const rows = rowsOf(page, 'Question')
  assert.ok(rows.length >= 8)
  for (const [question, figure = '', command = ''] of rows) {
    assert.match(figure, /\d/, question)
    const [, script = '', bench] = /^`npm run (\w+) --(?: (?!--)([\w-]+))?/.exec(command) ?? []
    assert.ok(JSON.stringify(manifest).includes(`"${script}":`), command)
    if (bench !== undefined) assert.ok(benches.includes(`${bench}.bench.ts`), command)
  }
})
