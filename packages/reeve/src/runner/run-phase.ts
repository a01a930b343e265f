import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { v2 } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { toolEnvironment } from './environment.ts'
import { SecretMasker } from './masking.ts'
import type { PhaseContext, PhaseResult, RunnerSettings } from './phase.ts'
import { PhaseClient, PHASE_OVER } from './phase-client.ts'
import { PhaseLog } from './phase-log.ts'
import { applyPhase, planPhase } from './phases.ts'
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
  const phase = await createPhaseContext(settings, { document, client, tool })
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
): Promise<PhaseContext> {
  const { document, client } = connection
  const home = join(settings.taskDirectory, 'home')
  await mkdir(home, { recursive: true, mode: 0o700 })
  const configFile = join(settings.secretsDirectory, 'tool.rc')
  await writeFile(configFile, 'disable_checkpoint = true\n', { mode: 0o600 })
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
