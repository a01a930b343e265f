import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ParsedJob } from '@reeve/contract'
import { Value } from 'typebox/value'
import { canonicalizeJob } from '../model/index.ts'
import { DIAGNOSTICS_MAX } from './limits.ts'
import { parseJobFile } from './parse-job-file.ts'

const request = { file: 'input.hcl', strict: false, files: undefined, random: { next: () => 0 } }
const defaults = { region: 'global', namespace: 'default', nodePool: '' }

/** Any text must yield a valid job or errors with positions, and never throw. */
function exercise(text: string, variables = ''): void {
  const variableTexts = variables === '' ? [] : [{ file: 'f', text: variables }]
  const result = parseJobFile({ ...request, text, variableTexts })
  if (result.ok) {
    assert.ok(Value.Check(ParsedJob, result.value.job))
    canonicalizeJob(result.value.job, defaults)
    result.value.positions.find('TaskGroups[0].Tasks[0].Driver')
    return
  }
  assert.ok(result.error.length > 0 && result.error.length <= DIAGNOSTICS_MAX)
  for (const { severity, range } of result.error) {
    assert.equal(severity, 'error')
    assert.ok(range.start.line >= 1 && range.start.column >= 1)
  }
}

const WORDS = [
  'job "j" {',
  'group "g" {',
  'task "t" {',
  'network {',
  'port "p" {',
  'service {',
  'check {',
  'constraint {',
  'template {',
  'config {',
  'env {',
  'meta {',
  'meta = {',
  'dynamic "port" {',
  'dynamic "task" {',
  'content {',
  'for_each =',
  'labels =',
  'iterator =',
  'variable "v" {',
  'variables {',
  'locals {',
  'validation {',
  'condition =',
  'error_message =',
  'type =',
  'default =',
  'count =',
  'driver =',
  'kill_timeout =',
  'datacenters =',
  'static =',
  'v =',
  'a =',
  '[',
  ']',
  '{',
  '}',
  '}',
  '}',
  '\n',
  '\n',
  '\n',
  ',',
  '"x"',
  '"90s"',
  '"${',
  '}"',
  '1',
  '-1',
  'null',
  'true',
  'string',
  'list(',
  ')',
  'var.v',
  'local.a',
  'attr.x',
  'port.value',
  '<<E\n',
  'E\n',
  '# c\n',
  'for x in',
  ':',
  '=>',
  '...',
  'upper(',
  'range(',
  '1e9',
]

const JSON_WORDS = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"job"',
  '"j"',
  '"group"',
  '"task"',
  '"network"',
  '"port"',
  '"dynamic"',
  '"for_each"',
  '"content"',
  '"labels"',
  '"variable"',
  '"locals"',
  '"config"',
  '"meta"',
  '"${var.v}"',
  '"${local.a}"',
  '"//"',
  'null',
  '1',
  'true',
  '"x"',
]

for (const [syntax, words] of [
  ['native', WORDS],
  ['JSON', JSON_WORDS],
] as const)
  test(`hostile: a soup of ${syntax} words`, () => {
    const soup = fc
      .array(fc.constantFrom(...words), { maxLength: 60 })
      .map((list) => list.join(' '))
    fc.assert(
      fc.property(soup, soup, (text, variables) => exercise(text, variables)),
      { numRuns: 300 },
    )
  })

test('hostile: blocks of a job in any order and nesting', () => {
  const block = fc.letrec<{ body: string }>((tie) => ({
    body: fc
      .array(
        fc.oneof(
          { depthSize: 'small', withCrossShrink: true },
          fc.constantFrom(
            'count = 1',
            'driver = "x"',
            'name = null',
            'interval = "1s"',
            'args = ["a"]',
            'a = local.a',
            'static = 1',
            'meta = { a = 1 }',
            'value = attr.x',
          ),
          fc
            .tuple(
              fc.constantFrom(
                'group "g"',
                'task "t"',
                'network',
                'port "p"',
                'service',
                'check',
                'constraint',
                'spread',
                'target "x"',
                'config',
                'env',
                'template',
                'scaling "cpu"',
                'scaling',
                'identity',
                'secret "s"',
                'secret_store',
                'lifecycle',
                'resources',
                'device "d"',
                'volume "v"',
                'update',
                'dynamic "task"',
                'content',
              ),
              tie('body'),
            )
            .map(([header, body]) => `${header} {\n${body}\n}`),
        ),
        { maxLength: 6 },
      )
      .map((items) => items.join('\n')),
  }))
  fc.assert(
    fc.property(block.body, (body) => exercise(`locals {\na = "l"\n}\njob "j" {\n${body}\n}`)),
    { numRuns: 300 },
  )
})

test('hostile: arbitrary text', () => {
  fc.assert(
    fc.property(fc.string(), (text) => exercise(text)),
    { numRuns: 300 },
  )
})

const bombs = [
  {
    name: 'values that double',
    text: `locals {\n x0 = "${'x'.repeat(1000)}"\n${Array.from({ length: 40 }, (_, i) => ` x${i + 1} = [local.x${i}, local.x${i}]`).join('\n')}\n}\njob "j" {\n task "t" {\n config {\n a = local.x40\n}\n}\n}`,
  },
  {
    name: 'a large value in many places',
    text: `locals {\n a = [for x in [${'1,'.repeat(900)}] : "${'y'.repeat(900)}"]\n}\njob "j" {\n task "t" {\n config {\n${Array.from({ length: 500 }, (_, i) => `a${i} = local.a`).join('\n')}\n}\n}\n}`,
  },
  {
    name: 'blocks that multiply',
    text: `locals {\n l = [${'1,'.repeat(2000)}]\n}\njob "j" {\n dynamic "spread" {\n for_each = local.l\n content {\n dynamic "target" {\n for_each = local.l\n labels = ["x"]\n content {}\n}\n}\n}\n}`,
  },
  {
    name: 'secrets times tasks',
    text: `locals {\n l = [${'1,'.repeat(9000)}]\n}\njob "j" {\n dynamic "secret" {\n for_each = local.l\n labels = ["s\${secret.key}"]\n content {}\n}\n dynamic "task" {\n for_each = local.l\n labels = ["t\${task.key}"]\n content {}\n}\n}`,
  },
  {
    name: 'picked locals',
    text: `locals {\n${Array.from({ length: 3000 }, (_, i) => ` x${i} = local["x\${${i} + 1}"]`).join('\n')}\n}\njob "j" {}`,
  },
]

for (const c of bombs)
  test(`hostile: ${c.name} end at a limit`, () => {
    const result = parseJobFile({ ...request, text: c.text })
    assert.ok(!result.ok)
    assert.ok(result.error.length <= DIAGNOSTICS_MAX)
  })

test('hostile: the number of reported unknown names is limited', () => {
  const variables = Array.from({ length: 20_000 }, (_, i) => `name${i} = 1`).join('\n')
  const result = parseJobFile({
    ...request,
    strict: true,
    text: 'variables {\n names = 1\n}\njob "j" {}',
    variableTexts: [{ file: 'f', text: variables }],
  })
  assert.ok(!result.ok)
  assert.equal(result.error.length, DIAGNOSTICS_MAX)
})
