import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aGroup, aTask } from '../build/index.ts'
import { ofJob, register, withScheduler } from './cluster.ts'
import { createTestServer } from './harness.ts'

test('explain: names the line of the job file that has to change', async () => {
  const { server, settle } = await withScheduler(await createTestServer({ aclEnabled: false }))
  const Source = [
    'job "web" {',
    '  group "app" {',
    '    task "main" {',
    '      driver = "mock"',
    '      resources {',
    '        memory = 9000',
    '      }',
    '    }',
    '  }',
    '}',
  ].join('\n')
  const group = aGroup({ Tasks: [aTask({ Resources: { MemoryMB: 9_000 } })] })
  const Submission = { Source, Format: 'hcl2' }
  await server.ok('registerJob', register({ TaskGroups: [group] }, { Submission }))
  await settle()
  const [explained] = (await server.ok('explainJob', ofJob())).Groups
  const [change] = explained?.Changes ?? []
  assert.deepEqual(
    change?.Steps.map(({ Place }) => Place),
    [{ Line: 6, Column: 18 }],
  )
  assert.equal(
    change?.Text,
    'set memory of task "main" in group "app" to 8,192 MB or less (line 6)',
  )
})
