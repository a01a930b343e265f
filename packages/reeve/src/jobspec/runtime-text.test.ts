import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic } from '@reeve/hcl'
import { parseJobFile } from './parse-job-file.ts'

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function envOf(text: string) {
  const result = parseJobFile({ ...request, text })
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value.job.TaskGroups?.[0]?.Tasks?.[0]?.Env
}

/** Each case is an expression and the exact text expected in the job. */
const cases = [
  { source: '"${attr.kernel.name}"', text: '${attr.kernel.name}' },
  { source: '"${meta.my-key}"', text: '${meta.my-key}' },
  { source: '"a${node.unique.id}b"', text: 'a${node.unique.id}b' },
  { source: '"${REEVE_PORT_http}"', text: '${REEVE_PORT_http}' },
  { source: '"${ REEVE_ALLOC_DIR }"', text: '${ REEVE_ALLOC_DIR }' },
  { source: '"${  attr.x\t}"', text: '${  attr.x\t}' },
  { source: '"${env["HOME"]}"', text: '${env["HOME"]}' },
  { source: '"${env[ "A B" ]}/x"', text: '${env[ "A B" ]}/x' },
  { source: '"${device.attr.memory}"', text: '${device.attr.memory}' },
  { source: '"${JOB}-${TASKGROUP}"', text: '${JOB}-${TASKGROUP}' },
  { source: '"$${HOME}"', text: '${HOME}' },
  { source: '"$${ HOME }"', text: '${ HOME }' },
  { source: '"%%{ if x }"', text: '%{ if x }' },
  { source: 'attr.cpu.arch', text: '${attr.cpu.arch}' },
  { source: 'NODE', text: '${NODE}' },
  { source: 'env["HOME"]', text: '${env["HOME"]}' },
  { source: 'var.n == 1 ? attr.a : attr.b', text: '${attr.a}' },
  { source: '"${var.n}${attr.a}${local.l}"', text: '1${attr.a}L' },
  { source: '"é😀${attr.ü}"', text: 'é😀${attr.ü}' },
  { source: '"{{ env \\"X\\" }} ${attr.a}"', text: '{{ env "X" }} ${attr.a}' },
  {
    source: '<<E\n$x ${attr.a}\n  "quoted" \\n\n$${b}\nE',
    text: '$x ${attr.a}\n  "quoted" \\n\n${b}\n',
  },
  { source: '"%{ for i in [1, 2] }${i}=${attr.a};%{ endfor }"', text: '1=${attr.a};2=${attr.a};' },
]

for (const c of cases)
  test(`run-time text: ${JSON.stringify(c.source)}`, () => {
    const names = 'variables {\n n = 1\n}\nlocals {\n l = "L"\n}\n'
    const text = `${names}job "j" {\n task "t" {\n env {\n A = ${c.source}\n}\n}\n}`
    assert.deepEqual(envOf(text), { A: c.text })
  })

const jsonCases = [
  { source: '${attr.kernel.name}', text: '${attr.kernel.name}' },
  { source: '${ env[\\"HOME\\"] }x', text: '${ env["HOME"] }x' },
  { source: '$${HOME}', text: '${HOME}' },
  { source: '\\u0024{attr.x}', text: '${attr.x}' },
]

for (const c of jsonCases)
  test(`run-time text: the JSON string ${c.source}`, () => {
    const text = `{"job": {"j": {"task": {"t": {"env": {"A": "${c.source}"}}}}}}`
    assert.deepEqual(envOf(text), { A: c.text })
  })
