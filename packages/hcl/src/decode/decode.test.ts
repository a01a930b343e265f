import assert from 'node:assert/strict'
import { test } from 'node:test'
import { err, ok } from '@reeve/kit/result.ts'
import { evaluate } from '../evaluate/evaluate.ts'
import { childScope, createScope, type Scope } from '../evaluate/scope.ts'
import { parseHclJson } from '../syntax/json.ts'
import { parseHcl1 } from '../syntax/hcl1.ts'
import { parseHcl } from '../syntax/parse.ts'
import type { Body } from '../syntax/ast.ts'
import { formatRange } from '../text/format.ts'
import { BOOL, listOf, mapOf, NUMBER, STRING } from '../value/type.ts'
import { isList, toJson } from '../value/value.ts'
import { readPartialContent, readContent } from './content.ts'
import { bodyToValue, decodeBody, decodedToValue } from './decode.ts'
import type { BlockExpander, BodySchema, DecodedBody } from './schema.ts'

const task: BodySchema = {
  attributes: {
    driver: { type: STRING, isRequired: true },
    leader: { type: BOOL },
    args: { type: listOf(STRING) },
    env: { type: mapOf(STRING) },
  },
  blocks: { env: { countMax: 1 }, config: { countMax: 1 } },
}

const schema: BodySchema = {
  blocks: {
    job: {
      labels: ['name'],
      countMin: 1,
      countMax: 1,
      body: {
        attributes: { priority: { type: NUMBER }, datacenters: { type: listOf(STRING) } },
        blocks: {
          group: {
            labels: ['name'],
            body: {
              attributes: { count: { type: NUMBER } },
              blocks: { task: { labels: ['name'], body: task } },
            },
          },
          update: { countMax: 1, body: {} },
        },
      },
    },
  },
}

function aScope(): Scope {
  return createScope({ variables: { n: 3, ports: ['http', 'db'] } })
}

function bodyOf(text: string, syntax: 'native' | 'json' | 'legacy'): Body {
  const parser = { native: parseHcl, json: parseHclJson, legacy: parseHcl1 }[syntax]
  const parsed = parser(text, 'f')
  assert.ok(parsed.ok, parsed.ok ? '' : JSON.stringify(parsed.error))
  return parsed.value
}

/** Summarizes types, labels and values, one line per block. */
function outline(body: DecodedBody): unknown {
  return {
    ...Object.fromEntries([...body.attributes].map(([name, one]) => [name, one.value])),
    blocks: body.blocks.map((block) => [block.type, ...block.labels, outline(block.body)]),
  }
}

const job = {
  blocks: [
    [
      'job',
      'web',
      {
        priority: 70,
        datacenters: ['dc1'],
        blocks: [
          [
            'group',
            'a',
            {
              count: 3,
              blocks: [
                [
                  'task',
                  't',
                  {
                    driver: 'exec',
                    leader: true,
                    env: { A: '1' },
                    blocks: [['config', { image: 'x', blocks: [] }]],
                  },
                ],
              ],
            },
          ],
          ['group', 'b', { blocks: [] }],
        ],
      },
    ],
  ],
}

const spellings = [
  {
    syntax: 'native',
    text: `job "web" {
      priority = "70"
      datacenters = ["dc1"]
      group "a" {
        count = n
        task "t" {
          driver = "exec"
          leader = "true"
          env = { A = 1 }
          config { image = "x" }
        }
      }
      group "b" {}
    }`,
  },
  {
    syntax: 'json',
    text: `{"job": {"web": {
      "//": "a comment",
      "priority": "70", "datacenters": ["dc1"],
      "group": [{"a": {"count": "\${n}", "task": {"t": {"driver": "exec", "leader": "true", "env": {"A": 1}, "config": [{"image": "x"}]}}}}, {"b": {}}],
      "update": null
    }}}`,
  },
  {
    syntax: 'legacy',
    text: `job "web" {
      "priority" = "70"  datacenters = "dc1"
      group = { a = { count = "3"  task "t" { driver = "exec" leader = 1 env = { A = 1 } config { image = "x" } } } }
      group { b {} }
    }`,
  },
] as const

for (const c of spellings)
  test(`decodeBody reads the same job from the ${c.syntax} syntax`, () => {
    const decoded = decodeBody(bodyOf(c.text, c.syntax), schema, { scope: aScope() })
    assert.ok(decoded.ok, decoded.ok ? '' : JSON.stringify(decoded.error))
    assert.deepEqual(outline(decoded.value), job)
  })

const errors = [
  {
    name: 'unknown argument',
    text: 'job "j" {\n  prioritty = 1\n}',
    error:
      '2,3-12 Unsupported argument: An argument named "prioritty" is not expected here. Did you mean "priority"?',
  },
  {
    name: 'unknown argument far from all',
    text: 'job "j" {\n  zzz = 1\n}',
    error: '2,3-6 Unsupported argument: An argument named "zzz" is not expected here.',
  },
  {
    name: 'unknown block',
    text: 'job "j" {\n  grup "a" {}\n}',
    error:
      '2,3-7 Unsupported block type: Blocks of type "grup" are not expected here. Did you mean "group"?',
  },
  {
    name: 'inherited names are unknown',
    text: 'constructor {}\njob "j" {}',
    error: '1,1-12 Unsupported block type: Blocks of type "constructor" are not expected here.',
  },
  {
    name: 'a block as argument',
    text: 'job "j" {\n  update = {}\n}',
    error:
      '2,3-9 Unsupported argument: An argument named "update" is not expected here. Did you mean to define a block of type "update"?',
  },
  {
    name: 'an argument as block',
    text: 'job "j" {\n  priority {}\n}',
    error:
      '2,3-11 Unsupported block type: Blocks of type "priority" are not expected here. Did you mean to set the argument "priority"? If so, write "=" after its name.',
  },
  {
    name: 'no label',
    text: 'job {\n}',
    error: '1,1-4 Missing label: Blocks of type "job" need 1 label(s); missing: name.',
  },
  {
    name: 'too many labels',
    text: 'job "a" "b" {\n}',
    error: '1,9-12 Extraneous label: Blocks of type "job" have 1 label(s): name.',
  },
  {
    name: 'a label too many',
    text: 'job "j" {\n  update "x" {}\n}',
    error: '2,10-13 Extraneous label: Blocks of type "update" have no labels.',
  },
  {
    name: 'no block',
    text: '',
    error: '1,1-1 Missing block: At least 1 block(s) of type "job" are required.',
  },
  {
    name: 'two blocks',
    text: 'job "a" {}\njob "b" {}\n',
    error: '2,1-8 Duplicate block: At most 1 block(s) of type "job" are allowed here.',
  },
  {
    name: 'missing argument',
    text: 'job "j" {\n  group "g" {\n    task "t" {\n    }\n  }\n}',
    error:
      '3,5-13 Missing required argument: The argument "driver" is required, but it was not set.',
  },
  {
    name: 'null for a required argument',
    text: 'job "j" {\n group "g" {\n  task "t" { driver = null }\n }\n}',
    error:
      '3,23-27 Incorrect value type: Inappropriate value for argument "driver": it must not be null.',
  },
  {
    name: 'wrong type',
    text: 'job "j" {\n  priority = "high"\n}',
    error:
      '2,14-20 Incorrect value type: Inappropriate value for argument "priority": a number is required, but "high" is not one.',
  },
  {
    name: 'wrong type inside',
    text: 'job "j" {\n  datacenters = ["a", []]\n}',
    error:
      '2,17-26 Incorrect value type: Inappropriate value for argument "datacenters": element 1: a string is required.',
  },
  {
    name: 'failing expression',
    text: 'job "j" {\n  priority = m\n}',
    error: '2,14-15 Unknown variable: There is no variable named "m".',
  },
  {
    name: 'argument and block of one name',
    text: 'job "j" {\n group "g" {\n  task "t" {\n   driver = "x"\n   env = {A = 1}\n   env { B = 2 }\n  }\n }\n}',
    error: '6,4-7 Duplicate definition: "env" is given both as an argument and as a block.',
  },
] as const

for (const c of errors)
  test(`decodeBody refuses: ${c.name}`, () => {
    const decoded = decodeBody(bodyOf(c.text, 'native'), schema, { scope: aScope() })
    assert.ok(!decoded.ok)
    const found = decoded.error.map(
      ({ range, summary, detail }) => `${formatRange(range).slice(2)} ${summary}: ${detail}`,
    )
    assert.deepEqual(found, [c.error])
  })

test('decodeBody reports everything at once', () => {
  const text =
    'job "j" {\n  a = 1\n  priority = []\n  b {}\n  group "g" {\n    count = 1 / 0\n    task "t" {}\n  }\n}'
  const decoded = decodeBody(bodyOf(text, 'native'), schema, { scope: aScope() })
  assert.ok(!decoded.ok)
  assert.deepEqual(
    decoded.error.map((one) => one.summary),
    [
      'Unsupported argument',
      'Unsupported block type',
      'Incorrect value type',
      'Division by zero',
      'Missing required argument',
    ],
  )
})

const jsonErrors = [
  { text: '{"job": {"j": 5}}', error: '1,15-16 Object required' },
  { text: '{"job": 5}', error: '1,9-10 Object required' },
  { text: '{"job": {"j": {"priorty": 5}}}', error: '1,16-25 Unsupported argument' },
  { text: '{"job": {"j": {"priority": 5, "priority": 6}}}', error: '1,31-41 Attribute redefined' },
  { text: '{"job": [{"a": {}}, {"b": {}}]}', error: '1,22-25 Duplicate block' },
]

for (const c of jsonErrors)
  test(`decodeBody refuses ${c.text}`, () => {
    const decoded = decodeBody(bodyOf(c.text, 'json'), schema, { scope: aScope() })
    assert.ok(!decoded.ok)
    assert.deepEqual(
      decoded.error.map((one) => `${formatRange(one.range).slice(2)} ${one.summary}`),
      [c.error],
    )
  })

test('an open body is a value: blocks are lists of objects, labels are levels', () => {
  const text = 'a = 1 + 1\nport_map { http = 80 }\nb "x" "y" { c = n }\nb "z" "w" {}\n'
  const value = bodyToValue(bodyOf(text, 'native'), { scope: aScope() })
  assert.ok(value.ok)
  assert.equal(
    toJson(value.value),
    '{"a":2,"port_map":[{"http":80}],"b":[{"x":{"y":{"c":3}}},{"z":{"w":{}}}]}',
  )
})

test('an open body of the JSON syntax stays as written', () => {
  const value = bodyToValue(bodyOf('{"a": {"b": [{"c": "${n}"}]}}', 'json'), { scope: aScope() })
  assert.deepEqual(value, ok({ a: { b: [{ c: 3 }] } }))
})

test('an open schema checks what it knows and takes the rest', () => {
  const open: BodySchema = {
    attributes: { a: { type: NUMBER } },
    blocks: { b: { body: {} } },
    isOpen: true,
  }
  const good = decodeBody(bodyOf('a = "1"\nx = 2\ny "l" { z = 3 }\n', 'native'), open, {
    scope: aScope(),
  })
  assert.ok(good.ok)
  assert.equal(toJson(decodedToValue(good.value)), '{"a":1,"x":2,"y":[{"l":{"z":3}}]}')
  const bad = decodeBody(bodyOf('a = []\nb { c = 1 }\n', 'native'), open, { scope: aScope() })
  assert.ok(!bad.ok)
  assert.equal(bad.error.length, 2)
})

test('readContent sorts items without evaluating them', () => {
  const body = bodyOf('variable "a" { default = missing }\nx = f(1)\nlocals {}\n', 'native')
  const content = readContent(body, {
    attributes: { x: {} },
    blocks: { variable: { labels: ['name'] }, locals: {} },
  })
  assert.ok(content.ok)
  assert.deepEqual([...content.value.attributes.keys()], ['x'])
  assert.deepEqual(
    content.value.blocks.map((block) => block.type),
    ['variable', 'locals'],
  )
})

/**
 * A minimal `dynamic`: `repeat "port" { over = [...] content { … } }` with the element as `each`.
 */
const repeat: BlockExpander = {
  type: 'repeat',
  labels: ['type'],
  expand: (block, scope) => {
    const wanted = { attributes: { over: {} }, blocks: { content: {} } }
    const content = readContent(block.body, wanted)
    if (!content.ok) return content
    const over = content.value.attributes.get('over')
    const inner = content.value.blocks[0]
    const label = block.labels[0]
    if (over === undefined || inner === undefined || label === undefined) return err([])
    const list = evaluate(over.expression, scope)
    if (!list.ok) return list
    const elements = isList(list.value) ? list.value : []
    return ok(
      elements.map((each) => ({
        block: { ...block, type: label.text, typeSpan: label.span, labels: [], body: inner.body },
        scope: childScope(scope, { each }),
      })),
    )
  },
}

const expanding: BodySchema = {
  blocks: {
    port: {
      countMax: 3,
      body: { attributes: { name: { type: STRING, isRequired: true } }, blocks: { port: {} } },
    },
  },
}

test('an expander stands for blocks, in its own scope, at every level, in every syntax', () => {
  const native = `
    port { name = "first" }
    repeat "port" {
      over = ports
      content {
        name = "p-\${each}"
        repeat "port" {
          over = [1, 2]
          content { id = "\${each}" }
        }
      }
    }`
  const json = `{"port": {"name": "first"}, "repeat": {"port": {"over": "\${ports}", "content": {
    "name": "p-\${each}", "repeat": {"port": {"over": [1, 2], "content": {"id": "\${each}"}}}}}}}`
  for (const [text, syntax] of [
    [native, 'native'],
    [json, 'json'],
  ] as const) {
    const decoded = decodeBody(bodyOf(text, syntax), expanding, {
      scope: aScope(),
      expander: repeat,
    })
    assert.ok(decoded.ok, decoded.ok ? '' : JSON.stringify(decoded.error))
    assert.equal(
      toJson(decodedToValue(decoded.value)),
      '{"port":[{"name":"first"},{"name":"p-http","port":[{"id":1},{"id":2}]},{"name":"p-db","port":[{"id":1},{"id":2}]}]}',
    )
  }
})

test('expanded blocks are checked like written ones', () => {
  const cases = [
    { text: 'repeat "prot" {\n over = [1]\n content {}\n}', summary: 'Unsupported block type' },
    { text: 'repeat "port" {\n over = [1]\n content {}\n}', summary: 'Missing required argument' },
    {
      text: 'repeat "port" {\n over = [1, 2, 3, 4]\n content { name = each }\n}',
      summary: 'Duplicate block',
    },
    {
      text: 'repeat "port" {\n over = missing\n content { name = each }\n}',
      summary: 'Unknown variable',
    },
    { text: 'repeat {\n}', summary: 'Missing label' },
  ]
  for (const c of cases) {
    const decoded = decodeBody(bodyOf(c.text, 'native'), expanding, {
      scope: aScope(),
      expander: repeat,
    })
    assert.ok(!decoded.ok)
    assert.deepEqual(
      decoded.error.map((one) => one.summary),
      [c.summary],
    )
  }
})

test('expansion stops at the budget of the scope', () => {
  const level = (inner: string) => `repeat "x" {\n over = list\n content {\n${inner}\n}\n}\n`
  const text = level(level(level(level(''))))
  const list = Array.from({ length: 100 }, (_, index) => index)
  const scope = createScope({ variables: { list } })
  const decoded = decodeBody(bodyOf(text, 'native'), { isOpen: true }, { scope, expander: repeat })
  assert.ok(!decoded.ok)
  assert.ok(decoded.error.every((one) => one.summary === 'Evaluation too expensive'))
  assert.ok(scope.meter.stepsUsed < scope.meter.limits.stepsMax * 1.1)
})

const even: BodySchema = {
  attributes: {
    n: {
      type: NUMBER,
      read: (value) => (Number(value) % 2 === 0 ? ok(Number(value) / 2) : err('it must be even')),
    },
  },
  blocks: { map: { body: { otherAttributes: { type: STRING } } } },
}

test('a schema may read a converted value in its own way', () => {
  const decoded = decodeBody(bodyOf('n = "8"', 'native'), even, { scope: aScope() })
  assert.ok(decoded.ok)
  assert.equal(decoded.value.attributes.get('n')?.value, 4)
  const odd = decodeBody(bodyOf('n = 3\nx = 1', 'native'), even, { scope: aScope() })
  assert.deepEqual(odd.ok ? [] : odd.error.map((one) => one.detail), [
    'An argument named "x" is not expected here.',
    'Inappropriate value for argument "n": it must be even.',
  ])
})

test('where names are data any attribute is allowed, of one kind, and no block', () => {
  const decoded = decodeBody(bodyOf('map {\n a = 1\n b = true\n}', 'native'), even, {
    scope: aScope(),
  })
  assert.ok(decoded.ok)
  assert.equal(toJson(decodedToValue(decoded.value)), '{"map":[{"a":"1","b":"true"}]}')
  const wrong = decodeBody(bodyOf('map {\n a = []\n b {}\n}', 'native'), even, { scope: aScope() })
  assert.deepEqual(wrong.ok ? [] : wrong.error.map((one) => one.summary), [
    'Unsupported block type',
    'Incorrect value type',
  ])
})

test('in JSON a list stands for blocks where a value is allowed too', () => {
  const both: BodySchema = {
    attributes: { env: { type: mapOf(STRING) } },
    blocks: { env: { countMax: 1, body: { otherAttributes: { type: STRING } } } },
  }
  const read = (text: string) => {
    const decoded = decodeBody(bodyOf(text, 'json'), both, { scope: aScope() })
    return decoded.ok ? outline(decoded.value) : decoded.error.map((one) => one.summary)
  }
  assert.deepEqual(read('{"env": {"A": 1}}'), { env: { A: '1' }, blocks: [] })
  assert.deepEqual(read('{"env": [{"A": 1}]}'), { blocks: [['env', { A: '1', blocks: [] }]] })
  assert.deepEqual(read('{"env": [{}, {}]}'), ['Duplicate block'])
})

test('readPartialContent gives what it understood beside what is wrong', () => {
  const body = bodyOf('a = 1\nb = 2\nc {}\n', 'native')
  const { content, diagnostics } = readPartialContent(body, { attributes: { a: {} } })
  assert.deepEqual([...content.attributes.keys()], ['a'])
  assert.deepEqual(
    diagnostics.map((one) => one.summary),
    ['Unsupported argument', 'Unsupported block type'],
  )
})
