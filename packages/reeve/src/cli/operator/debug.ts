import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ApiError, ConnectionError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { reasonOf } from '../reason.ts'

/** The newest evaluations and deployments are enough to see what the scheduler does. */
const RECENT = 200

const EVERYWHERE = { namespace: '*' }
const NEWEST = { ...EVERYWHERE, reverse: true }

type Collect = (invocation: Invocation) => Promise<unknown>

/**
 * The files of a bundle. None of them contains a secret: lists of jobs carry no environment,
 * templates or variables, and the server redacts tokens and keys in its own configuration.
 */
const FILES: Readonly<Record<string, Collect>> = {
  'agent-self.json': async ({ client }) => (await client.v1.readAgentSelf()).data,
  'agent-health.json': async ({ client }) => (await client.v1.readAgentHealth()).data,
  'members.json': async ({ client }) => (await client.v1.listAgentMembers()).data,
  'leader.json': async ({ client }) => (await client.v1.readLeader()).data,
  'metrics.json': async ({ client }) => (await client.v1.readMetrics()).data,
  'scheduler.json': async ({ client }) => (await client.v1.readSchedulerConfiguration()).data,
  'nodes.json': ({ client, signal }) => all(client.pages('listNodes', { signal })),
  'node-pools.json': async ({ client }) => (await client.v1.listNodePools()).data,
  'namespaces.json': async ({ client }) => (await client.v1.listNamespaces()).data,
  'jobs.json': ({ client, signal }) => all(client.pages('listJobs', { query: EVERYWHERE, signal })),
  'allocations.json': ({ client, signal }) =>
    all(client.pages('listAllocations', { query: EVERYWHERE, signal })),
  'evaluations.json': ({ client, signal }) =>
    all(client.pages('listEvaluations', { query: NEWEST, signal }), RECENT),
  'deployments.json': ({ client, signal }) =>
    all(client.pages('listDeployments', { query: NEWEST, signal }), RECENT),
}

async function all(
  items: AsyncIterable<unknown>,
  countMax: number = Infinity,
): Promise<readonly unknown[]> {
  const found: unknown[] = []
  for await (const item of items) {
    found.push(item)
    if (found.length === countMax) break
  }
  return found
}

/** `operator debug`: collects what support needs into a directory; what fails is recorded. */
export async function runOperatorDebug(invocation: Invocation): Promise<number> {
  const { args, host, output } = invocation
  const stamp = new Date(host.nowMs()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const name = args[0] ?? `reeve-debug-${stamp}`
  const directory = resolve(host.directory, name)
  await mkdir(directory, { mode: 0o700 }).catch((thrown: unknown) => {
    throw new CommandFailure(`${name} cannot be created: ${reasonOf(thrown)}.`)
  })
  const errors: Record<string, string> = {}
  for (const [file, collect] of Object.entries(FILES)) {
    try {
      await save(directory, file, await collect(invocation))
    } catch (thrown) {
      if (!(thrown instanceof ApiError || thrown instanceof ConnectionError)) throw thrown
      errors[file] = thrown.message
    }
  }
  await save(directory, 'errors.json', errors)
  const failed = Object.keys(errors)
  output.say(`${Object.keys(FILES).length - failed.length} files written to ${name}.`)
  if (failed.length > 0) output.note(`Not collected (see errors.json): ${failed.join(', ')}.`)
  return failed.length === Object.keys(FILES).length ? EXIT_CODES.failed : EXIT_CODES.ok
}

async function save(directory: string, file: string, data: unknown): Promise<void> {
  await writeFile(join(directory, file), `${JSON.stringify(data, null, 2)}\n`, { mode: 0o600 })
}
