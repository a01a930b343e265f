import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic } from '@reeve/hcl'
import { parseJobFile } from './parse-job-file.ts'

/** Common mistakes: each error must say how to fix it. */

function errorsOf(text: string): readonly string[] {
  const request = { file: 'f', strict: true, files: undefined, random: { next: () => 0 } }
  const result = parseJobFile({ ...request, text })
  assert.ok(!result.ok)
  return result.error.map((one) => formatDiagnostic(one).replace('f:', ''))
}

const job = (inner: string) => `job "j" {\n${inner}\n}\n`

const cases = [
  {
    name: 'a comma after an argument',
    text: job('type = "batch",\npriority = 1'),
    all: [
      '2,15-16: Missing newline; An argument definition must end with a newline, but found ",". Nothing separates the arguments of a block but newlines.',
    ],
  },
  {
    name: 'text without quotes',
    text: job('name = my job'),
    all: [
      '2,11-14: Missing newline; An argument definition must end with a newline, but found "job". Text is enclosed in double quotes.',
    ],
  },
  {
    name: 'two arguments on a line',
    text: job('type = "batch" priority = 1'),
    all: [
      '2,16-24: Missing newline; An argument definition must end with a newline, but found "priority".',
    ],
  },
  {
    name: 'a block that is assigned',
    text: 'job = "j" {\n}\n',
    all: [
      '1,11-12: Missing newline; An argument definition must end with a newline, but found "{". A block is written without "=".',
    ],
  },
  {
    name: 'an equals sign after a label',
    text: job('group "g" = {\n}'),
    all: ['2,11-12: Invalid block definition; A block is written without "=": remove it.'],
  },
  {
    name: 'a colon instead of an equals sign',
    text: job('type: "batch"'),
    all: ['2,5-6: Invalid block definition; The value of an argument follows "=", but found ":".'],
  },
  {
    name: 'a brace on the next line',
    text: 'job "j"\n{\n}\n',
    all: [
      '1,8-8: Invalid block definition; The "{" of a block is on the same line as its type and labels, but found the end of the line.',
      '2,1-2: Argument or block definition required; Expected an argument ("name = value") or a block ("type {"), but found "{".',
    ],
  },
  {
    name: 'a brace too many',
    text: `${job('')}}\n`,
    all: [
      '4,1-2: Argument or block definition required; There is no open block that this brace could close: remove it, or one before it.',
    ],
  },
  {
    name: 'a quoted name',
    text: job('meta {\n"a-b/c" = 1\n}'),
    all: [
      '3,1-2: Invalid name; Names of arguments and types of blocks are written without quotes. A name that needs them can be the key of a map: name = { "key" = value }.',
    ],
  },
  {
    name: 'a dot in a name',
    text: job('meta {\na.b = 1\n}'),
    all: [
      '3,2-3: Invalid block definition; A name has no dots. One that needs them can be the key of a map: name = { "key" = value }.',
    ],
  },
  {
    name: 'two arguments in a block on one line',
    text: job('update { canary = 1, max_parallel = 2 }'),
    all: [
      '2,20-21: Invalid single-line block; A block on one line may hold one argument and ends with "}" on that line, but found ",". Put its items on lines of their own.',
    ],
  },
  {
    name: 'a heredoc whose end is not alone',
    text: job('name = upper(<<EOF\nx\nEOF)'),
    all: [
      '2,14-19: Unterminated heredoc; There is no line after this one that has "EOF" and nothing else.',
    ],
  },
  {
    name: 'an interpolation without its brace',
    text: job('name = "${var.x"\ntype = "batch"\nregion = "r"'),
    all: [
      '2,16-17: Extra characters in template sequence; Expected "}" to end the template sequence, but found a quoted string. Write "$${" if the sequence is text for another language.',
      '2,17-17: Unterminated string; A quoted string ends on the line where it begins. Use a heredoc for several lines, or "\\n".',
    ],
  },
  {
    name: 'a directive that is none',
    text: job('name = "%{Y}"'),
    all: [
      '2,11-12: Invalid template directive; A directive is one of if, else, endif, for and endfor, but found "Y". Write "%%{" if the sequence is text for another language.',
    ],
  },
  {
    name: 'typographic quotes',
    text: job('name = “x”'),
    all: [
      '2,8-9: Invalid character; Typographic quotes are not valid. Use double quotes (") to enclose strings.',
      '2,10-11: Invalid character; Typographic quotes are not valid. Use double quotes (") to enclose strings.',
    ],
  },
  {
    name: 'text that is added',
    text: job('name = "a" + "b"'),
    all: [
      '2,8-11: Invalid operand; The operator needs a number here, but found the string "a". Text is joined in a template: "${a}${b}".',
    ],
  },
  {
    name: 'two jobs',
    text: 'job "a" {}\njob "b" {}\n',
    all: [
      '2,1-8: Duplicate job block; A job file has exactly one job block, and there is one at f:1,1-8.',
    ],
  },
  {
    name: 'a variable without a value',
    text: 'variable "n" {}\njob "a" {}\n',
    all: [
      '1,10-13: Unset variable; The variable "n" has no default, so it must be set. Give it a default, or a value along with the file: n = …',
    ],
  },
  {
    name: 'a function that reads files',
    text: job('name = file("x")'),
    all: [
      '2,8-17: Error in function call; Call to function "file" failed: filesystem function disabled: a server does not have your files. Write the text into the job file, or give it as a variable.',
    ],
  },
]

for (const c of cases)
  test(`parseJobFile suggests a remedy for ${c.name}`, () =>
    assert.deepEqual(errorsOf(c.text), c.all))

for (const text of ['{"Job":{"ID":"a"}}', '{"ID":"a","TaskGroups":[]}'])
  test(`parseJobFile reports that ${text} needs no parsing`, () => {
    const wanted =
      '1,1-1: Missing job block; This is a job as the API takes it: register it as it is, without parsing.'
    assert.deepEqual(errorsOf(text), [wanted])
  })
