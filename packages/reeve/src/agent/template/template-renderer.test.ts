import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { ByteBudget, GO_FUNCTIONS, HELPER_FUNCTIONS } from '@reeve/go-template'
import { AGENT_LIMITS } from '../limits.ts'
import {
  type RenderOutcome,
  type RenderRequest,
  taskFunctions,
  type TemplateSource,
} from './render-templates.ts'
import { TemplateRenderer } from './template-renderer.ts'

const NEVER = new AbortController().signal

function source(text: string, fields: Partial<TemplateSource> = {}): TemplateSource {
  const delimiters = { left: '{{', right: '}}' }
  return {
    name: 'local/x',
    text,
    ...delimiters,
    failsOnMissingKey: false,
    isEnvironment: false,
    ...fields,
  }
}

function aRequest(...templates: readonly TemplateSource[]): RenderRequest {
  return {
    templates,
    env: { A: 'a' },
    node: {
      ID: 'node-1',
      Name: 'node-1',
      Region: 'global',
      Datacenter: 'dc1',
      NodePool: 'default',
      NodeClass: '',
      Attributes: {},
      Meta: {},
    },
    namespace: 'default',
    nowMs: 0,
    hasCatalog: true,
    catalogAnswers: new Map(),
    includedFiles: new Map(),
  }
}

type Limits = ConstructorParameters<typeof TemplateRenderer>[0]

function aRenderer(t: TestContext, limits: Limits = {}): TemplateRenderer {
  const renderer = new TemplateRenderer(limits)
  t.after(() => renderer.stop())
  return renderer
}

function owner(job: string): { readonly namespace: string; readonly job: string } {
  return { namespace: 'default', job }
}

/** The texts, or what went wrong. */
function shown(outcome: RenderOutcome): readonly string[] | string {
  if (outcome.kind !== 'rendered') return `${outcome.kind}: ${outcome.message}`
  return outcome.files.map(({ bytes }) => new TextDecoder().decode(bytes))
}

/** Takes seconds, though within the byte budget: each character is tried in many ways. */
const SLOW = '{{ regexMatch "(a?){100}a{100}" (sprig_repeat 30000 "ab1-") }}'

test('renderer: texts, variables, and what is missing come back', async (t) => {
  const renderer = aRenderer(t)
  const env = source('B={{ env "A" }}', { name: 'local/env', isEnvironment: true })
  const complete = await renderer.render(owner('x'), aRequest(source('1 é'), env), NEVER)
  assert.deepEqual(shown(complete), ['1 é', 'B=a'])
  assert.ok(complete.kind === 'rendered')
  assert.deepEqual(complete.env, { B: 'a' })
  const text = '{{ service "db" | len }}{{ file "f" }}{{ with variable "v" }}{{ end }}'
  const request = { ...aRequest(source(text)), catalogAnswers: new Map([['variable(v)', 'null']]) }
  const incomplete = await renderer.render(owner('x'), request, NEVER)
  assert.ok(incomplete.kind === 'rendered')
  assert.deepEqual(incomplete.missing, ['service(db)', 'variable(v)'])
  assert.deepEqual(incomplete.wantedFiles, ['f'])
  assert.deepEqual(
    incomplete.dependencies.map(({ key }) => key),
    ['service(db)', 'variable(v)'],
  )
})

test('renderer: an error names its template', async (t) => {
  const renderer = aRenderer(t)
  const wrong = aRequest(source('a'), source('{{ if }}', { name: 'local/y' }))
  const parsed = await renderer.render(owner('x'), wrong, NEVER)
  assert.match(String(shown(parsed)), /^invalid: "local\/y": line 1: missing value/)
  const failing = aRequest(source('a'), source('{{ index "" 1 }}', { name: 'local/y' }))
  const failed = await renderer.render(owner('x'), failing, NEVER)
  assert.match(String(shown(failed)), /^failed: "local\/y": line 1: error calling index/)
})

test('renderer: a timeout names the template, and other jobs continue', async (t) => {
  const renderer = aRenderer(t, { timeoutMs: 300 })
  // Both threads are there before the time counts.
  const warm = ['w1', 'w2'].map((job) => renderer.render(owner(job), aRequest(source('')), NEVER))
  await Promise.all(warm)
  const slow = renderer.render(
    owner('slow'),
    aRequest(source('a', { name: 'local/fast' }), source(SLOW)),
    NEVER,
  )
  let isSlowOver = false
  const ended = Promise.allSettled([slow]).finally(() => {
    isSlowOver = true
  })
  const other = await renderer.render(owner('other'), aRequest(source('b')), NEVER)
  assert.deepEqual(shown(other), ['b'])
  assert.equal(isSlowOver, false, 'the other job did not wait for the slow one')
  await assert.rejects(slow, {
    kind: 'task-template',
    message: /^Template failed: rendering "local\/x" took longer than 0\.3 s; simplify/,
  })
  await ended
  const later = await renderer.render(owner('slow'), aRequest(source('c')), NEVER)
  assert.deepEqual(shown(later), ['c'], 'the thread was replaced')
})

test('renderer: exceeding the heap limit fails only that rendering', async (t) => {
  const renderer = aRenderer(t, { heapMB: 40, timeoutMs: 60_000 })
  const text = '{{ $l := sprig_list }}{{ range loop 900000 }}{{ $l = sprig_list $l }}{{ end }}'
  await assert.rejects(renderer.render(owner('x'), aRequest(source(text)), NEVER), {
    kind: 'task-template',
    message: /^Template failed: rendering "local\/x" needed more than 40 MB of memory/,
  })
  const next = await renderer.render(owner('x'), aRequest(source('ok')), NEVER)
  assert.deepEqual(shown(next), ['ok'])
})

test('renderer: a job has one rendering at a time, and jobs take turns', async (t) => {
  const renderer = aRenderer(t, { threadsMax: 1 })
  const order: string[] = []
  const render = async (job: string): Promise<void> => {
    await renderer.render(owner(job), aRequest(source('')), NEVER)
    order.push(job)
  }
  await Promise.all(['greedy', 'greedy', 'greedy', 'modest', 'third'].map(render))
  // The first begins at once; of those that wait each job has a turn before one has two.
  assert.deepEqual(order, ['greedy', 'greedy', 'modest', 'third', 'greedy'])
})

test('renderer: an abandoned request is not rendered', async (t) => {
  const renderer = aRenderer(t, { threadsMax: 1, timeoutMs: 2_000 })
  const ended = new AbortController()
  const slow = renderer.render(owner('slow'), aRequest(source(SLOW)), NEVER).catch(() => undefined)
  const waiting = renderer.render(owner('x'), aRequest(source('')), ended.signal)
  ended.abort()
  await assert.rejects(waiting, /the task ended before its templates were rendered/)
  await assert.rejects(
    renderer.render(owner('x'), aRequest(source('')), ended.signal),
    /the task ended/,
  )
  await slow
})

test('renderer: all waiting renderings fail when it stops', async () => {
  const renderer = new TemplateRenderer({ threadsMax: 1 })
  const all = ['x', 'y'].map((job) => renderer.render(owner(job), aRequest(source(SLOW)), NEVER))
  const settled = Promise.allSettled(all)
  await renderer.stop()
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
})

test('renderer: the output of a task is bounded, at the limit and past it', async (t) => {
  const renderer = aRenderer(t, { timeoutMs: 60_000 })
  const half = AGENT_LIMITS.templateOutputBytesMax / 2
  const file = source(`{{ sprig_repeat ${half} "a" }}`)
  const whole = await renderer.render(owner('x'), aRequest(file, file), NEVER)
  assert.equal(whole.kind, 'rendered')
  const more = await renderer.render(owner('x'), aRequest(file, file, source('b')), NEVER)
  const message = `failed: "local/x": the templates of the task have more than ${2 * half} bytes of output`
  assert.equal(shown(more), message)
})

test('renderer: a file of variables is bounded, at the limit and past it', async (t) => {
  const renderer = aRenderer(t, { timeoutMs: 60_000 })
  const most = AGENT_LIMITS.interpolatedTotalCharsMax
  const env = (chars: number): RenderRequest =>
    aRequest(source(`A={{ sprig_repeat ${chars - 2} "a" }}`, { isEnvironment: true }))
  const whole = await renderer.render(owner('x'), env(most), NEVER)
  assert.equal(whole.kind, 'rendered')
  const more = await renderer.render(owner('x'), env(most + 1), NEVER)
  assert.match(String(shown(more)), /environment file has more than 2097152 characters/)
})

test('renderer: a file of variables has as many as a task may have, and no more', async (t) => {
  const renderer = aRenderer(t, { timeoutMs: 60_000 })
  const most = AGENT_LIMITS.environmentVariablesMax
  const env = (count: number): RenderRequest => {
    const text = `{{ range loop ${count} }}K{{ . }}=\n{{ end }}`
    return aRequest(source(text, { isEnvironment: true }))
  }
  const whole = await renderer.render(owner('x'), env(most), NEVER)
  assert.ok(whole.kind === 'rendered')
  assert.equal(Object.keys(whole.env).length, most)
  const more = await renderer.render(owner('x'), env(most + 1), NEVER)
  assert.match(String(shown(more)), /environment file has more than 10000 variables/)
})

test('byte budget: the functions of tasks charge the texts that they are given', () => {
  const functions = taskFunctions({
    ...aRequest(),
    lookUp: () => null,
    includeFile: () => undefined,
  })
  const known = new Set([...GO_FUNCTIONS.keys(), ...HELPER_FUNCTIONS.keys()])
  const constant = new Set(['services', 'plugin', 'executeTemplate', 'writeToFile'])
  const text = 'a'.repeat(1_000)
  const own = [...functions].filter(([name]) => !known.has(name) && !constant.has(name))
  assert.ok(own.length > 8)
  for (const [name, { cost }] of own) {
    const budget = new ByteBudget()
    cost([text], budget)
    assert.ok(budget.spent >= text.length, `${name} charges nothing for its text`)
  }
})
