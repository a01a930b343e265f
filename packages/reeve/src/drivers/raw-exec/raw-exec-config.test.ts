import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRawExecConfig, withoutDeniedVariables } from './raw-exec-config.ts'

test('a full configuration', () => {
  assert.deepEqual(readRawExecConfig({ command: 'sh', args: ['-c', 1, true], work_dir: '/tmp' }), {
    command: 'sh',
    args: ['-c', '1', 'true'],
    workDir: '/tmp',
    oomScoreAdj: undefined,
    deniedVariables: [],
  })
  assert.deepEqual(readRawExecConfig({ command: 'sh', args: null, work_dir: null }), {
    command: 'sh',
    args: [],
    workDir: undefined,
    oomScoreAdj: undefined,
    deniedVariables: [],
  })
})

const cases = [
  { name: 'no command', config: {}, message: 'command is required' },
  { name: 'an empty command', config: { command: '' }, message: 'command is empty' },
  {
    name: 'a command that is no text',
    config: { command: ['a'] },
    message: 'command must be a text',
  },
  {
    name: 'arguments that are no list',
    config: { command: 'a', args: 'b' },
    message: 'args must be a list of texts',
  },
  {
    name: 'an argument that is no text',
    config: { command: 'a', args: ['b', {}] },
    message: 'args[1] must be a text',
  },
  {
    name: 'a missing argument',
    config: { command: 'a', args: [null] },
    message: 'args[0] is required',
  },
  {
    name: 'NUL in an argument',
    config: { command: 'a', args: ['b\0'] },
    message: 'args[0] holds a NUL character',
  },
  {
    name: 'a misspelt setting',
    config: { comand: 'a' },
    message: '"comand" is not a setting of raw_exec; did you mean command?',
  },
]
for (const c of cases) {
  test(`raw_exec configuration: ${c.name}`, () => {
    assert.throws(() => readRawExecConfig(c.config), { kind: 'task-config', message: c.message })
  })
}

test('variables that a task denies itself are left out, its marks are not', () => {
  const env = { AWS_KEY: 'a', AWS_ID: 'b', HOME: 'c', REEVE_ALLOC_ID: 'd', REEVE_TASK_NAME: 'e' }
  const left = { HOME: 'c', REEVE_ALLOC_ID: 'd', REEVE_TASK_NAME: 'e' }
  assert.deepEqual(withoutDeniedVariables(env, ['AWS_*', 'REEVE_*']), left)
  assert.deepEqual(withoutDeniedVariables(env, []), env)
})
