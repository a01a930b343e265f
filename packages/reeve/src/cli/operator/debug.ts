import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ApiError, ConnectionError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { systemErrorReason } from '../reason.ts'

/** Number of evaluations and deployments in the bundle, newest first. */
const RECENT_MAX = 200

const ALL_NAMESPACES = { namespace: '*' }
const NEWEST = { ...ALL_NAMESPACES, reverse: true }

type Collect = (invocation: CommandContext) => Promise<unknown>

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
  'jobs.json': ({ client, signal }) =>
    all(client.pages('listJobs', { query: ALL_NAMESPACES, signal })),
  'allocations.json': ({ client, signal }) =>
    all(client.pages('listAllocations', { query: ALL_NAMESPACES, signal })),
  'evaluations.json': ({ client, signal }) =>
    all(client.pages('listEvaluations', { query: NEWEST, signal }), RECENT_MAX),
  'deployments.json': ({ client, signal }) =>
    all(client.pages('listDeployments', { query: NEWEST, signal }), RECENT_MAX),
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

/** `operator debug`: writes diagnostic data to a directory; failed requests are recorded. */
export async function runOperatorDebug(invocation: CommandContext): Promise<number> {
  const { args, host, output } = invocation
  const stamp = new Date(host.nowMs()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const name = args[0] ?? `reeve-debug-${stamp}`
  const directory = resolve(host.directory, name)
  await mkdir(directory, { mode: 0o700 }).catch((thrown: unknown) => {
    throw new CommandError(`${name} cannot be created: ${systemErrorReason(thrown)}.`)
  })
  const errors: Record<string, string> = {}
  for (const [file, collect] of Object.entries(FILES)) {
    try {
      await writeJson(directory, file, await collect(invocation))
    } catch (thrown) {
      if (!(thrown instanceof ApiError || thrown instanceof ConnectionError)) throw thrown
      errors[file] = thrown.message
    }
  }
  await writeJson(directory, 'errors.json', errors)
  const failed = Object.keys(errors)
  output.printLine(`${Object.keys(FILES).length - failed.length} files written to ${name}.`)
  if (failed.length > 0)
    output.printNotice(`Not collected (see errors.json): ${failed.join(', ')}.`)
  return failed.length === Object.keys(FILES).length ? EXIT_CODES.failed : EXIT_CODES.ok
}

async function writeJson(directory: string, file: string, data: unknown): Promise<void> {
  await writeFile(join(directory, file), `${JSON.stringify(data, null, 2)}\n`, { mode: 0o600 })
}
