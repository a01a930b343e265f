import { createClient, type Client } from '@reeve/sdk'
import { runFile, serviceFile } from '../../packages/web/test/jobs.ts'

/** Beside the namespace whose jobs the policies of `makeSite` judge. */
export const NAMESPACE = 'shop'

/** A cluster in the middle of things: a canary that waits, a job without room, a failure. */
export async function fillCluster(address: string, token: string): Promise<void> {
  const client = createClient({ address, token })
  await client.v1.writeNamespace({ body: { Name: NAMESPACE, Description: 'What customers see' } })
  const web = (words: string, count: number) => serviceFile('web', { count, canaries: 1, words })
  await run(client, web('hello', 6))
  await run(client, serviceFile('api', { count: 4 }))
  await run(client, serviceFile('vast').replace('memory = 16', 'memory = 90000000'))
  await run(client, serviceFile('broken', { count: 3 }).replace('while true', 'exit 3; while true'))
  await run(client, dispatched())
  const of = { params: { job_id: 'resize' }, query: { namespace: NAMESPACE } }
  for (const size of ['640', '1280', '1920'])
    await client.v1.dispatchJob({ ...of, body: { Meta: { size } } })
  await untilHealthy(client, 6)
  await run(client, web('hello again', 8))
  await untilHealthy(client, 1)
}

async function run(client: Client, file: string): Promise<void> {
  await runFile(client, file.replace(/^(job "[^"]+" \{)/, `$1\n  namespace = "${NAMESPACE}"`))
}

function dispatched(): string {
  return `job "resize" {
  type = "batch"
  parameterized {
    meta_required = ["size"]
  }
  group "work" {
    task "main" {
      driver = "raw_exec"
      config {
        command = "/bin/echo"
        args    = ["resized"]
      }
      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
`
}

/** Waits until as many allocations of the newest version count as healthy. */
async function untilHealthy(client: Client, count: number): Promise<void> {
  const request = { params: { job_id: 'web' }, query: { namespace: NAMESPACE } }
  for await (const { data } of client.blocking('listJobAllocations', request)) {
    const newest = Math.max(...data.map(({ JobVersion }) => JobVersion))
    const healthy = data.filter(
      ({ JobVersion, DeploymentStatus }) =>
        JobVersion === newest && DeploymentStatus?.Healthy === true,
    )
    if (healthy.length >= count) return
  }
}
