import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic } from '@reeve/hcl'
import { parseJobFile } from './parse-job-file.ts'

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function read(text: string) {
  return parseJobFile({ ...request, text })
}

function groupOf(inner: string) {
  const result = read(`job "j" {\ngroup "g" {\n${inner}\n}\n}`)
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value.job.TaskGroups?.[0] ?? {}
}

test('dynamic: one block for each element, between the others', () => {
  const { Constraints } = groupOf(`
    constraint { value = "first" }
    dynamic "constraint" {
      for_each = ["a", "b"]
      content {
        attribute = constraint.key
        value     = "\${constraint.value}!"
      }
    }
    constraint { value = "last" }`)
  assert.deepEqual(
    Constraints?.map((rule) => [rule.LTarget, rule.RTarget]),
    [
      [null, 'first'],
      ['0', 'a!'],
      ['1', 'b!'],
      [null, 'last'],
    ],
  )
})

test('dynamic: a map is taken by its keys in order, with labels and an iterator', () => {
  const { Networks } = groupOf(`network {
    dynamic "port" {
      for_each = { web = 80, admin = 81 }
      iterator = it
      labels   = ["\${it.key}-port"]
      content {
        to = it.value
      }
    }
  }`)
  assert.deepEqual(
    Networks?.[0]?.DynamicPorts?.map((port) => [port.Label, port.To]),
    [
      ['admin-port', 81],
      ['web-port', 80],
    ],
  )
})

test('dynamic: blocks inside blocks see the outer iterators', () => {
  const { Services } = groupOf(`dynamic "service" {
    for_each = [{ name = "a", paths = ["/x", "/y"] }, { name = "b", paths = [] }]
    content {
      name = service.value.name
      dynamic "check" {
        for_each = service.value.paths
        content {
          name = "\${service.value.name}\${check.value}"
          dynamic "check_restart" {
            for_each = [check.key + 1]
            content { limit = check_restart.value }
          }
        }
      }
    }
  }`)
  const seen = Services?.map((service) => [
    service.Name,
    ...(service.Checks ?? []).map((check) => [check.Name, check.CheckRestart?.Limit]),
  ])
  assert.deepEqual(seen, [['a', ['a/x', 1], ['a/y', 2]], ['b']])
})

test('dynamic: groups and tasks, and driver configuration', () => {
  const result = read(`job "j" {
    dynamic "group" {
      for_each = ["a", "b"]
      labels   = ["g-\${group.value}"]
      content {
        task "t" {
          config {
            dynamic "mount" {
              for_each = [1, 2]
              content { id = mount.value }
            }
          }
        }
      }
    }
  }`)
  assert.ok(result.ok)
  const groups = result.value.job.TaskGroups ?? []
  assert.deepEqual(
    groups.map((group) => [group.Name, group.Tasks?.[0]?.Config]),
    ['g-a', 'g-b'].map((name) => [name, { mount: [{ id: 1 }, { id: 2 }] }]),
  )
})

test('dynamic: the JSON syntax', () => {
  const result = read(`{"job": {"j": {"group": {"g": {"network": {"dynamic": {"port": {
    "for_each": ["a", "b"], "iterator": "it", "labels": ["\${it.value}"],
    "content": {"to": "\${it.key}"}}}}}}}}}`)
  assert.ok(result.ok)
  const ports = result.value.job.TaskGroups?.[0]?.Networks?.[0]?.DynamicPorts
  assert.deepEqual(
    ports?.map((port) => [port.Label, port.To]),
    [
      ['a', 0],
      ['b', 1],
    ],
  )
})

const dynamic = (inner: string, type = 'constraint') => `dynamic "${type}" {\n${inner}\n}`

const errors = [
  {
    name: 'no for_each',
    text: dynamic('content {}'),
    error: '2,1-21: Missing required argument; A dynamic block needs "for_each".',
  },
  {
    name: 'no content',
    text: dynamic('for_each = []'),
    error: '2,1-21: Missing block; A dynamic block needs a "content" block.',
  },
  {
    name: 'two contents',
    text: dynamic('for_each = []\ncontent {}\ncontent {}'),
    error: '5,1-8: Duplicate block; A dynamic block has one "content" block.',
  },
  {
    name: 'an unknown type',
    text: dynamic('for_each = [1]\ncontent {}', 'constrain'),
    error:
      '2,9-20: Unsupported block type; Blocks of type "constrain" are not expected here. Did you mean "constraint"?',
  },
  {
    name: 'text to iterate',
    text: dynamic('for_each = "a"\ncontent {}'),
    error: '3,12-15: Invalid for_each; A list, set or map is needed, but found string.',
  },
  {
    name: 'a run-time reference to iterate',
    text: dynamic('for_each = attr.x\ncontent {}'),
    error: '3,12-18: Invalid for_each; A list, set or map is needed, but found string.',
  },
  {
    name: 'null to iterate',
    text: dynamic('for_each = null\ncontent {}'),
    error: '3,12-16: Invalid for_each; A list, set or map is needed, but found null.',
  },
  {
    name: 'an iterator that is no name',
    text: dynamic('for_each = [1]\niterator = 5\ncontent {}'),
    error: '4,12-13: Invalid iterator; The iterator is a name.',
  },
  {
    name: 'labels where there are none',
    text: dynamic('for_each = [1]\nlabels = ["a"]\ncontent {}'),
    error: '4,10-15: Extraneous label; Blocks of type "constraint" have no labels.',
  },
  {
    name: 'labels that are no list',
    text: dynamic('for_each = [1]\nlabels = "a"\ncontent {}'),
    error:
      '4,10-13: Invalid labels; The labels of a block are a list of strings: a list of string is required.',
  },
  {
    name: 'a missing label',
    text: dynamic('for_each = [1]\ncontent {}', 'group'),
    error: '2,1-16: Missing label; Blocks of type "group" need 1 label(s); missing: name.',
  },
  {
    name: 'an unknown argument',
    text: dynamic('for_each = [1]\nfoo = 1\ncontent {}'),
    error: '4,1-4: Unsupported argument; An argument named "foo" is not expected here.',
  },
  {
    name: 'a mistake in the content',
    text: dynamic('for_each = [1]\ncontent {\nfoo = 1\n}'),
    error: '5,1-4: Unsupported argument; An argument named "foo" is not expected here.',
  },
]

for (const c of errors)
  test(`dynamic: refused is ${c.name}`, () => {
    const result = read(`job "j" {\n${c.text}\n}`)
    assert.ok(!result.ok)
    const found = result.error.map((one) => formatDiagnostic(one).replace('input.hcl:', ''))
    assert.deepEqual(found, [c.error])
  })

test('dynamic: blocks that multiply end at the limit', () => {
  const inner = dynamic('for_each = local.many\ncontent {}', 'target')
  const text = `locals {\n many = [for i in range(1000) : i]\n}\njob "j" {\n${dynamic(`for_each = local.many\ncontent {\n${inner}\n}`, 'spread')}\n}`
  const result = read(text)
  assert.ok(!result.ok)
})

test('dynamic: only in a job', () => {
  const result = read('dynamic "variable" {\n for_each = []\n content {}\n}\njob "j" {}')
  assert.ok(!result.ok)
  assert.equal(result.error[0]?.summary, 'Unsupported block type')
})

test('dynamic: an element of a set is its own key', () => {
  const { Constraints } = groupOf(`
    dynamic "constraint" {
      for_each = toset(["b", "a", "b"])
      content {
        attribute = constraint.key
        value     = constraint.value
      }
    }
    dynamic "constraint" {
      for_each = true ? toset(["c"]) : []
      content {
        attribute = constraint.key
      }
    }`)
  assert.deepEqual(
    Constraints?.map((rule) => [rule.LTarget, rule.RTarget]),
    [
      ['a', 'a'],
      ['b', 'b'],
      ['c', null],
    ],
  )
})

test('dynamic: an error in the content is reported once for all iterations', () => {
  const result = read(`job "j" {
  dynamic "group" {
    for_each = range(100)
    labels   = ["g"]
    content {
      cuont = 1
    }
  }
  other = 1
}`)
  assert.ok(!result.ok)
  assert.deepEqual(
    result.error.map((one) => `${one.range.start.line} ${one.summary}`),
    ['6 Unsupported argument', '9 Unsupported argument'],
  )
})

test('dynamic: an exhausted step budget is reported once', () => {
  const one = `dynamic "group" {
    for_each = range(1000)
    labels   = ["g"]
    content {}
  }
  `
  const result = read(`job "j" {\n${one.repeat(100)}\n}`)
  assert.ok(!result.ok)
  assert.deepEqual(
    result.error.map(({ summary }) => summary),
    ['Evaluation too expensive'],
  )
})
