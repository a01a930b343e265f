import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { watch } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import test from 'node:test'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { createReadyNotifier } from './agent-command.ts'

test('the service manager is notified once the agent is ready, and tasks do not inherit its socket', async (t) => {
  const folder = await temporaryDirectory(t)
  const program = join(folder, 'systemd-notify')
  await writeFile(
    program,
    `#!/bin/sh\necho "$NOTIFY_SOCKET $*" > ${folder}/draft && mv ${folder}/draft ${folder}/said\n`,
  )
  await chmod(program, 0o755)
  const environment: NodeJS.ProcessEnv = {
    PATH: `${folder}:/usr/bin:/bin`,
    NOTIFY_SOCKET: '/run/x',
  }
  const ready = createReadyNotifier(environment)
  assert.equal(environment['NOTIFY_SOCKET'], undefined)
  const watcher = watch(folder)
  t.after(() => watcher.close())
  ready()
  const deadline = AbortSignal.timeout(10_000)
  for (let said = ''; !said.startsWith('/run/x --ready');) {
    await once(watcher, 'change', { signal: deadline })
    said = await readFile(join(folder, 'said'), 'utf8').catch(() => '')
  }
})

test('outside a service manager nothing is started', () => {
  const environment: NodeJS.ProcessEnv = { PATH: '/nonexistent' }
  createReadyNotifier(environment)()
  assert.deepEqual(environment, { PATH: '/nonexistent' })
})
