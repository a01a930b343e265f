import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { MemoryDisk, openMemoryEngine } from '../storage/index.ts'
import { bootstrapAcl } from '../workload/index.ts'
import { anAgentConfig } from '../../test/build/agent-config.ts'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { warnAboutMissingStorage } from './startup-warnings.ts'
import { createAgentStatus } from './agent-status.ts'
import { Server } from './server.ts'

const silent = (): void => undefined

function aWarnedLog() {
  const warned: [fields: object, message: string][] = []
  const warn = (fields: object, message: string): void => void warned.push([fields, message])
  return { warned, log: { debug: silent, info: silent, warn, error: silent } }
}

/** What a server on this disk warns of when it starts with this key, and makes a token if told. */
async function started(disk: MemoryDisk, key: Buffer, makes: 'a token' | 'nothing') {
  const config = anAgentConfig()
  const { warned, log } = aWarnedLog()
  const server = await Server.open({
    config,
    log,
    engine: openMemoryEngine({ disk }),
    secrets: { sealingKey: key, joinToken: 'join' },
    version: '0.0.0',
    agent: createAgentStatus(config, '0.0.0'),
  })
  await server.listen('127.0.0.1', 0)
  if (makes === 'a token') await bootstrapAcl(server.context, { by: 'system' }, {})
  await server.stop()
  return warned
}

test('a server warns of secrets that were sealed with another key', async () => {
  const disk = new MemoryDisk()
  const key = Buffer.alloc(32, 7)
  assert.deepEqual(await started(disk, key, 'a token'), [])
  assert.deepEqual(await started(disk, key, 'nothing'), [])
  const [[fields, message] = [{}, ''], ...further] = await started(
    disk,
    Buffer.alloc(32, 8),
    'nothing',
  )
  assert.deepEqual([fields, further], [{ unreadable: ['SecretIDs of tokens'] }, []])
  assert.match(
    message,
    /another key .* the server\/sealing-key or server\.cluster_key of the servers/,
  )
})

test('a server warns of a storage that is gone, and not at its first start', async (t) => {
  const dir = await temporaryDirectory(t)
  const { warned, log } = aWarnedLog()
  warnAboutMissingStorage(dir, log)
  await writeFile(join(dir, 'sealing-key'), 'k')
  await mkdir(join(dir, 'storage'))
  warnAboutMissingStorage(dir, log)
  assert.deepEqual(warned, [])
  const other = await temporaryDirectory(t)
  await writeFile(join(other, 'sealing-key'), 'k')
  warnAboutMissingStorage(other, log)
  assert.match(warned[0]?.[1] ?? '', /its storage is missing: it starts empty/)
})
