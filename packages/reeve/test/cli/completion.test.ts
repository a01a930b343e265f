import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { aCommandLine } from '../build/cli.ts'

const JOB = `job "web" {
  type = "batch"
  group "web" {
    count = 0
    task "web" {
      driver = "mock"
    }
  }
}
`

test('completion', async (t) => {
  const reeve = await aCommandLine(t)
  const offers = async (...typed: readonly string[]): Promise<readonly string[]> => {
    const out = await reeve.ok(['__complete', '--', ...typed])
    return out
      .split('\n')
      .map((line) => line.split('\t')[0] ?? '')
      .slice(0, -1)
  }

  await t.test('commands and groups, also those that need no server', async () => {
    const all = await offers('')
    for (const word of ['job', 'alloc', 'agent', 'login', 'version']) assert.ok(all.includes(word))
    assert.ok(!all.includes('__complete'))
    assert.deepEqual(await offers('job', 'stat'), ['status'])
    assert.deepEqual(await offers('config', ''), ['validate'])
  })

  await t.test('flags of the command, but not of another', async () => {
    assert.deepEqual(await offers('job', 'status', '--addr'), ['--address'])
    assert.deepEqual(await offers('job', 'status', '--tail'), [])
  })

  await t.test('what the server has', async () => {
    await reeve.file('web.hcl', JOB)
    await reeve.run('job run --detach web.hcl')
    assert.deepEqual(await offers('job', 'status', 'w'), ['web'])
    assert.deepEqual(await offers('job', 'status', 'x'), [])
    assert.deepEqual(await offers('job', 'status', '--namespace', 'def'), ['default'])
    assert.deepEqual(await offers('job', 'status', '--namespace', 'none', 'w'), [])
    const [node = ''] = await offers('node', 'status', '')
    assert.deepEqual(await offers('node', 'status', node.slice(0, 3)), [node])
  })

  await t.test('a server that is down offers nothing and is no failure', async () => {
    const environment = { REEVE_ADDR: 'http://127.0.0.1:1' }
    const line = ['__complete', '--', 'job', 'status', '']
    assert.deepEqual(await reeve.run(line, { environment }), { code: 0, out: '', err: '' })
  })

  await t.test('the script of bash completes in bash', async () => {
    const script = await reeve.ok('completion bash')
    const program = `reeve() { printf 'status\\tsays\\nstop\\tsays\\n'; }
      ${script}
      COMP_WORDS=(reeve job st); COMP_CWORD=2; _reeve; printf '%s,' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', program], { encoding: 'utf8' })
    assert.deepEqual({ stdout, stderr }, { stdout: 'status,stop,', stderr: '' })
  })

  await t.test('a shell that is not known is refused', async () => {
    const { code, err } = await reeve.run('completion csh')
    assert.equal(code, 2)
    assert.match(err, /SHELL is one of bash, zsh, fish, not "csh"/)
  })
})
