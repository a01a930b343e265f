import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic } from '@reeve/hcl'
import { parseJobFile } from './parse-job-file.ts'

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function errorsOf(text: string): readonly string[] {
  const result = parseJobFile({ ...request, text })
  assert.ok(!result.ok)
  return result.error.map((one) => formatDiagnostic(one).replace('input.hcl:', ''))
}

const task = (inner: string) => `job "j" {\ngroup "g" {\ntask "t" {\n${inner}\n}\n}\n}`

const required = 'a duration like "90s" or "1h30m" is required'
const errors = [
  {
    name: 'a day is no unit',
    text: task('kill_timeout = "2d"'),
    all: [
      `4,16-20: Incorrect value type; Inappropriate value for argument "kill_timeout": ${required}, but "2d" is not one.`,
    ],
  },
  {
    name: 'a duration needs a unit',
    text: task('kill_timeout = "5"'),
    all: [
      `4,16-19: Incorrect value type; Inappropriate value for argument "kill_timeout": ${required}, but "5" is not one.`,
    ],
  },
  {
    name: 'a duration is not null',
    text: task('kill_timeout = null'),
    all: [
      '4,16-20: Incorrect value type; Inappropriate value for argument "kill_timeout": it must not be null.',
    ],
  },
  {
    name: 'a duration is a whole number',
    text: task('kill_timeout = 0.5'),
    all: [
      `4,16-19: Incorrect value type; Inappropriate value for argument "kill_timeout": ${required}.`,
    ],
  },
  {
    name: 'a duration fits 64 bits',
    text: task('kill_timeout = "9999999h"'),
    all: [
      '4,16-26: Incorrect value type; Inappropriate value for argument "kill_timeout": the duration is too long.',
    ],
  },
  {
    name: 'a count is whole',
    text: 'job "j" {\n priority = 1.5\n}',
    all: [
      '2,13-16: Incorrect value type; Inappropriate value for argument "priority": a whole number is required.',
    ],
  },
  {
    name: 'a count fits',
    text: 'job "j" {\n priority = 123456789012345678901\n}',
    all: [
      '2,13-34: Incorrect value type; Inappropriate value for argument "priority": the number is too large.',
    ],
  },
  {
    name: 'an element is not null',
    text: 'job "j" {\n datacenters = ["a", null]\n}',
    all: [
      '2,16-27: Incorrect value type; Inappropriate value for argument "datacenters": element 1: it must not be null.',
    ],
  },
  {
    name: 'two job blocks',
    text: 'job "a" {}\njob "b" {}\n',
    all: [
      '2,1-8: Duplicate job block; A job file has exactly one job block, and there is one at input.hcl:1,1-8.',
    ],
  },
  {
    name: 'no job block',
    text: 'locals {}\n',
    all: ['1,1-1: Missing job block; A job file has exactly one block: job "name" { … }.'],
  },
  {
    name: 'an empty text',
    text: '',
    all: ['1,1-1: Missing job block; A job file has exactly one block: job "name" { … }.'],
  },
  {
    name: 'a job without a label',
    text: 'job {}\n',
    all: ['1,1-4: Missing label; Blocks of type "job" need 1 label(s); missing: name.'],
  },
  {
    name: 'an unknown block',
    text: 'foo {}\njob "a" {}\n',
    all: ['1,1-4: Unsupported block type; Blocks of type "foo" are not expected here.'],
  },
  {
    name: 'an attribute at the top',
    text: 'region = "eu"\njob "a" {}\n',
    all: ['1,1-7: Unsupported argument; An argument named "region" is not expected here.'],
  },
  {
    name: 'an unknown attribute with its nearest name',
    text: task('drivr = "exec"'),
    all: [
      '4,1-6: Unsupported argument; An argument named "drivr" is not expected here. Did you mean "driver"?',
    ],
  },
  {
    name: 'an unknown block with its nearest name',
    text: task('resource {}'),
    all: [
      '4,1-9: Unsupported block type; Blocks of type "resource" are not expected here. Did you mean "resources"?',
    ],
  },
  {
    name: 'env twice',
    text: task('env = {A = 1}\nenv {\nB = 2\n}'),
    all: ['5,1-4: Duplicate definition; "env" is given both as an argument and as a block.'],
  },
  {
    name: 'env in two blocks',
    text: task('env {}\nenv {}'),
    all: ['5,1-4: Duplicate block; At most 1 block(s) of type "env" are allowed here.'],
  },
  {
    name: 'a list in env',
    text: task('env {\nA = []\n}'),
    all: [
      '5,5-7: Incorrect value type; Inappropriate value for argument "A": a string is required.',
    ],
  },
  {
    name: 'null in env',
    text: task('env {\nA = null\n}'),
    all: [
      '5,5-9: Incorrect value type; Inappropriate value for argument "A": it must not be null.',
    ],
  },
  {
    name: 'null in an env map',
    text: task('env = {A = null}'),
    all: [
      '4,7-17: Incorrect value type; Inappropriate value for argument "env": attribute "A": it must not be null.',
    ],
  },
  {
    name: 'a volume twice',
    text: 'job "j" {\ngroup "g" {\nvolume "v" {}\nvolume "v" {}\n}\n}',
    all: ['4,1-11: Duplicate block; There is another block of type "volume" with the label "v".'],
  },
  {
    name: 'two operators',
    text: 'job "j" {\nconstraint {\nversion = "1"\nregexp = "x"\n}\n}',
    all: [
      '4,10-13: Conflicting operators; "version" and "regexp" are two operators; a block has one.',
    ],
  },
  {
    name: 'a scaling label',
    text: task('scaling "disk" {}'),
    all: ['4,1-15: Invalid label; The label of a scaling block in a task is "cpu" or "mem".'],
  },
  {
    name: 'two default identities',
    text: task('identity {}\nidentity {\nname = "default"\n}'),
    all: [
      '4,1-9: Duplicate identity; A task has one identity without a name, or named "default"; name the others.',
    ],
  },
  {
    name: 'a syntax error',
    text: 'job "j" {\n  a = \n}',
    all: [
      '2,7-7: Invalid expression; Expected the start of an expression, but found the end of the line.',
    ],
  },
]

for (const c of errors)
  test(`parseJobFile refuses: ${c.name}`, () => assert.deepEqual(errorsOf(c.text), c.all))

test('parseJobFile reports everything at once, in the order of the text', () => {
  const text = `foo {}
job "a" {
  prioritty = 1
  task "t" {
    kill_timeout = "2d"
    env = { A = missing() }
  }
  group "g" {
    count = "many"
    service {
      check {
        interval = []
      }
    }
  }
}
job "b" {}
`
  assert.deepEqual(
    errorsOf(text).map((error) => error.replace(/;.*/, '')),
    [
      '1,1-4: Unsupported block type',
      '3,3-12: Unsupported argument',
      '5,20-24: Incorrect value type',
      '6,17-24: Call to unknown function',
      '9,13-19: Incorrect value type',
      '12,20-22: Incorrect value type',
      '17,1-8: Duplicate job block',
    ],
  )
})
