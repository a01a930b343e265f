import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job, ServiceRegistration } from '@reeve/contract'
import type { Client } from '@reeve/sdk'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from './program-process.ts'

/** A server that is well once somebody has asked it `/wake`. */
const SERVER = `
let isWell = false
require('node:http').createServer((request, response) => {
  if (request.url === '/wake') isWell = true
  response.writeHead(isWell ? 200 : 503).end()
}).listen(Number(process.env.REEVE_PORT_http), '127.0.0.1')
`

function aJob(): Input<Job> {
  const check = { Type: 'http', Path: '/', Interval: nsFromMs(1_000), Timeout: nsFromMs(1_000) }
  return {
    ID: 'shop',
    Type: 'service',
    TaskGroups: [
      {
        Name: 'front',
        Networks: [{ Mode: 'host', DynamicPorts: [{ Label: 'http' }] }],
        Services: [
          { Name: '${JOB}-group', PortLabel: 'http', Provider: 'service', Tags: ['of-group'] },
        ],
        Update: {
          HealthCheck: 'checks',
          MinHealthyTime: nsFromMs(500),
          HealthyDeadline: nsFromMs(60_000),
          ProgressDeadline: nsFromMs(120_000),
        },
        Tasks: [
          {
            Name: 'web',
            Driver: 'raw_exec',
            Config: { command: process.execPath, args: ['-e', SERVER] },
            KillTimeout: nsFromMs(1_000),
            Resources: { CPU: 20, MemoryMB: 64 },
            Services: [
              {
                Name: 'shop-web',
                PortLabel: 'http',
                Provider: 'service',
                Checks: [{ Name: 'well', ...check }],
              },
            ],
          },
        ],
      },
    ],
  }
}

async function instances(client: Client, name: string): Promise<readonly ServiceRegistration[]> {
  const { data } = await client.v1.readService({ params: { service_name: name } })
  return data
}

async function deploymentStatus(client: Client): Promise<string | undefined> {
  const { data } = await client.v1.readLatestDeployment({ params: { job_id: 'shop' } })
  return data?.Status
}

test('services: registered while the task runs, and the roll-out waits for its check', async (t) => {
  const { client } = await startProgram(t, await temporaryDirectory(t))
  await client.v1.registerJob({ body: { Job: aJob() } })
  const web = await until('the service to be there', async () => {
    const [one] = await instances(client, 'shop-web')
    return one
  })
  assert.equal((await instances(client, 'shop-group'))[0]?.Port, web.Port)
  const ask = (path: string) =>
    fetch(`http://${web.Address}:${web.Port}${path}`).then(({ status }) => status)
  await until('the task to answer', async () =>
    (await ask('/').catch(() => 0)) === 503 ? 1 : undefined,
  )
  await until('a failed look at it', async () => {
    const { data } = await client.v1.readClientAllocationChecks({
      params: { alloc_id: web.AllocID },
    })
    return Object.values(data).find(({ Status }) => Status === 'failure')
  })
  assert.equal(await deploymentStatus(client), 'running')
  assert.equal(await ask('/wake'), 200)
  await until('the roll-out to succeed', async () =>
    (await deploymentStatus(client)) === 'successful' ? true : undefined,
  )
  await client.v1.stopJob({ params: { job_id: 'shop' } })
  await until('the services to be gone', async () => {
    const { data } = await client.v1.listServices()
    return data.length === 0 ? true : undefined
  })
})
