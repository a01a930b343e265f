import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { v2 } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { PhaseLog, SecretMasker } from './phase-log.ts'
import {
  applyPhase,
  type PhaseContext,
  type PhaseResult,
  planPhase,
  type RunnerSettings,
} from './phases.ts'
import { PhaseClient, PHASE_OVER } from './phase-client.ts'
import { type GatewayInput, RemoteStateGateway } from './remote-state-gateway.ts'
import { Tool } from './tool.ts'

const EXIT_FAILURE = 1

/** Executes one phase, from its ticket to its report. Returns the exit code of the task. */
export async function runPhase(settings: RunnerSettings): Promise<number> {
  const token = randomBytes(32).toString('base64url')
  const client = new PhaseClient(settings, token)
  const tool = new Tool()
  process.on('SIGINT', () => tool.interrupt('interrupt'))
  process.on('SIGTERM', () => tool.interrupt('interrupt'))
  const ticket = (await readFile(join(settings.secretsDirectory, 'ticket'), 'utf8')).trim()
  // The contract guarantees the form of the response.
  const document = (await client.sendJson(
    { method: 'POST', path: '/start' },
    { ticket, token },
  )) as v2.PhaseDocument
  const gateway = new RemoteStateGateway({ client, ...gatewayHosts(settings, document) })
  const phase = await createPhaseContext(settings, { document, client, tool }, gateway)
  const control = new AbortController()
  const watching = watchCancellation(phase, control.signal)
  try {
    const result = await executePhase(phase)
    const logBytes = await phase.log.close()
    await client.sendJson({ method: 'POST', path: '/finish' }, { ...result, logBytes })
    return result.outcome === 'finished' ? 0 : EXIT_FAILURE
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind !== PHASE_OVER) throw thrown
    // The phase was ended without waiting for this runner.
    return EXIT_FAILURE
  } finally {
    control.abort()
    await watching
    gateway.close()
    // The directory of the configuration contains the state, and the directory of secrets the
    // variables.
    for (const path of [phase.directory, settings.secretsDirectory])
      await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}

type PhaseConnection = Pick<PhaseContext, 'document' | 'client' | 'tool'>

async function createPhaseContext(
  settings: RunnerSettings,
  connection: PhaseConnection,
  gateway: RemoteStateGateway,
): Promise<PhaseContext> {
  const { document, client } = connection
  const home = join(settings.taskDirectory, 'home')
  await mkdir(home, { recursive: true, mode: 0o700 })
  const configFile = join(settings.secretsDirectory, 'tool.rc')
  const toolSettings = `disable_checkpoint = true\n${await gateway.start()}`
  await writeFile(configFile, toolSettings, { mode: 0o600 })
  const secrets = document.variables.filter(({ sensitive }) => sensitive)
  const masking = new SecretMasker(secrets.map(({ value }) => value))
  return {
    ...connection,
    settings,
    log: new PhaseLog(join(settings.taskDirectory, 'phase.log'), client, masking),
    environment: toolEnvironment({ document, home, configFile, path: settings.path }),
    directory: join(settings.taskDirectory, 'configuration'),
  }
}

function gatewayHosts(
  { address }: RunnerSettings,
  { organization, host }: v2.PhaseDocument,
): Omit<GatewayInput, 'client'> {
  const hosts = new Set([new URL(address).host, ...(host ? [host] : [])])
  return { organization, hosts: [...hosts].filter((name) => HOST_NAME.test(name)) }
}

/** The tool rejects its settings as a whole if they contain another host, such as `[::1]`. */
const HOST_NAME = /^[\w.-]+(?::\d+)?$/

async function executePhase(phase: PhaseContext): Promise<PhaseResult> {
  const { document, log } = phase
  try {
    return document.phase === 'plan' ? await planPhase(phase) : await applyPhase(phase)
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === PHASE_OVER) throw thrown
    const message = errorMessage(thrown)
    log.line(`Error: ${message}`)
    // The progress of an apply is unknown.
    const stateUncertain = document.phase === 'apply'
    return { outcome: 'errored', message: message.slice(0, MESSAGE_CHARS_MAX), stateUncertain }
  }
}

const MESSAGE_CHARS_MAX = 1_000

/** Waits for a cancellation until the phase ends. */
async function watchCancellation(phase: PhaseContext, signal: AbortSignal): Promise<void> {
  const { client, tool } = phase
  let lastSeen: v2.PhaseCancellation = 'none'
  while (!signal.aborted) {
    try {
      const polling = client.send({ method: 'GET', path: `/control?known=${lastSeen}` })
      const response = await Promise.race([polling, whenAborted(signal)])
      if (response === undefined) return
      // The contract guarantees the form of the response.
      const { cancellation } = JSON.parse(response.toString('utf8')) as v2.PhaseControl
      lastSeen = cancellation
      if (cancellation !== 'none') tool.interrupt(cancellation)
    } catch (thrown) {
      if (signal.aborted) return
      if (!(thrown instanceof Fault) || thrown.kind !== PHASE_OVER) throw thrown
      // The node was unreachable: an apply can still store its state. A tool that was interrupted
      // before is the subject of a forced cancellation.
      return tool.interrupt(tool.interruption === undefined ? 'interrupt' : 'kill')
    }
  }
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  if (signal.aborted) resolve(undefined)
  signal.addEventListener('abort', () => resolve(undefined), { once: true })
  return promise
}

/** Variables that would change which programs and settings the tool uses. */
const RESERVED_VARIABLES =
  /^(?:TF_CLI_CONFIG_FILE|TF_DATA_DIR|TF_REATTACH_PROVIDERS|LD_.*|PATH|HOME|REEVE_.*)$/
const ARGUMENT_VARIABLES = /^TF_CLI_ARGS(?:_(?!plan$|apply$).*)?$/

interface EnvironmentInput {
  readonly document: v2.PhaseDocument
  readonly home: string
  /** The settings of the tool. */
  readonly configFile: string
  readonly path: string
}

/**
 * Returns the environment of the tool: only the PATH of the node, and the variables of the
 * workspace.
 */
function toolEnvironment(parts: EnvironmentInput): Readonly<Record<string, string>> {
  const { document, home, configFile, path } = parts
  const { runId, organization, project, workspace } = document
  const runVariables = {
    TFC_RUN_ID: runId,
    TFC_WORKSPACE_NAME: workspace,
    TFC_WORKSPACE_SLUG: `${organization}/${workspace}`,
    TFC_PROJECT_NAME: project,
  }
  return {
    ...Object.fromEntries(allowedVariables(document.variables)),
    ...runVariables,
    ...Object.fromEntries(
      Object.entries(runVariables).map(([name, text]) => [`TF_VAR_${name}`, text]),
    ),
    PATH: path,
    HOME: home,
    TMPDIR: home,
    TF_IN_AUTOMATION: '1',
    TF_INPUT: '0',
    CHECKPOINT_DISABLE: '1',
    TF_CLI_CONFIG_FILE: configFile,
  }
}

function allowedVariables(
  variables: readonly v2.PhaseVariable[],
): readonly (readonly [string, string])[] {
  return variables
    .filter(({ category }) => category === 'env')
    .filter(({ key }) => !isReserved(key))
    .map(({ key, value }) => [key, value] as const)
}

/** Reports whether a variable of a workspace is withheld from the tool. */
function isReserved(name: string): boolean {
  return RESERVED_VARIABLES.test(name) || ARGUMENT_VARIABLES.test(name)
}
