import type { Input, Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { RUNNER_TASK, TICKET_ITEM, ticketPath } from '../governance/index.ts'
import type { RunPhaseRow, WorkspaceRow } from '../model/index.ts'
import { toolAttribute, TOOLS, type ToolName } from './tools.ts'

/** How phases of runs execute on nodes. */
export interface ExecutionSettings {
  /** `exec` isolates the tool from its node; `raw_exec` does not and is meant for trials only. */
  readonly driver: 'exec' | 'raw_exec' | 'docker'
  /** Image with the tool and this program; for `docker` only. */
  readonly image: string
  /** The program that plans and applies. */
  readonly tool: ToolName
  readonly cpuMHz: number
  readonly memoryMB: number
  readonly planMsMax: number
  readonly applyMsMax: number
  /** Phases of one organization that execute concurrently. */
  readonly phasesAtOnceMax: number
}

export const EXECUTION_DEFAULTS: ExecutionSettings = {
  driver: 'exec',
  image: '',
  tool: TOOLS[0],
  cpuMHz: 200,
  memoryMB: 512,
  planMsMax: 2 * 60 * 60 * 1_000,
  applyMsMax: 24 * 60 * 60 * 1_000,
  phasesAtOnceMax: 10,
}

export interface PhaseJobParts {
  readonly phase: RunPhaseRow
  readonly workspace: Pick<WorkspaceRow, 'name' | 'toolVersion'>
  readonly settings: ExecutionSettings
  /** Where the runner finds a server. */
  readonly address: string
  /** CA certificates that verify the server, in PEM form; empty to use those of the node. */
  readonly authorities: string
}

/**
 * A plan is killed after a minute. An apply may finish its current operation, so that the state
 * stays complete.
 */
const KILL_TIMEOUT_MS = { plan: 60_000, apply: 10 * 60_000 } as const

/** A user waits for an apply, because it was confirmed. */
const PRIORITY = { plan: 50, apply: 60 } as const

/**
 * Builds the batch job of a phase. It is started once and never restarted: an interrupted apply
 * needs manual inspection. The job contains no secrets: the runner reads its ticket from a
 * variable.
 */
export function phaseJob(parts: PhaseJobParts): Input<Job> {
  const { phase, workspace, settings } = parts
  const once = { Attempts: 0, Unlimited: false } as const
  return {
    ID: phase.id,
    Name: `${workspace.name} ${phase.phase}`,
    Type: 'batch',
    Namespace: phase.namespace,
    Priority: PRIORITY[phase.phase],
    Datacenters: ['*'],
    Meta: { run: phase.runId, phase: phase.phase, workspace: workspace.name },
    TaskGroups: [
      {
        Name: phase.phase,
        Count: 1,
        RestartPolicy: { Attempts: 0, Mode: 'fail' },
        ReschedulePolicy: once,
        Constraints: toolConstraints(parts),
        Tasks: [
          {
            Name: RUNNER_TASK,
            Driver: settings.driver,
            Config: configOf(settings),
            Env: environmentOf(parts),
            Templates: [ticketTemplate(parts)],
            KillSignal: 'SIGINT',
            KillTimeout: nsFromMs(KILL_TIMEOUT_MS[phase.phase]),
            Resources: { CPU: settings.cpuMHz, MemoryMB: settings.memoryMB },
          },
        ],
      },
    ],
  }
}

function configOf({ driver, image }: ExecutionSettings): Record<string, unknown> {
  const args = ['${attr.infrastructure.program}', 'run-phase']
  if (driver === 'docker') return { image, command: 'reeve', args: ['run-phase'] }
  return { command: '${attr.infrastructure.runtime}', args }
}

/** Writes the ticket to the private directory of the task, which ignores later changes. */
function ticketTemplate({ phase }: PhaseJobParts) {
  const path = JSON.stringify(ticketPath(phase))
  return {
    EmbeddedTmpl: `{{ with variable ${path} }}{{ .${TICKET_ITEM} }}{{ end }}`,
    DestPath: 'secrets/ticket',
    Perms: '0600',
    ChangeMode: 'noop',
  } as const
}

function environmentOf(parts: PhaseJobParts): Record<string, string> {
  const { phase, settings, address, authorities } = parts
  // In an image the tool is on the PATH.
  const tool =
    settings.driver === 'docker' ? settings.tool : `\${attr.infrastructure.${settings.tool}.path}`
  return {
    REEVE_PHASE_ADDRESS: address,
    REEVE_PHASE_ID: phase.id,
    REEVE_PHASE_TOOL: tool,
    ...(authorities === '' ? {} : { REEVE_PHASE_AUTHORITIES: authorities }),
  }
}

const EXACT_VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

function toolConstraints({ workspace, settings }: PhaseJobParts) {
  // An image has a fixed tool version.
  if (settings.driver === 'docker') return []
  const LTarget = `\${attr.${toolAttribute(settings.tool)}}`
  const version = workspace.toolVersion ?? 'latest'
  if (version === 'latest') return [{ LTarget, RTarget: '', Operand: 'is_set' }]
  const Operand = EXACT_VERSION.test(version) ? '=' : 'version'
  return [{ LTarget, RTarget: version, Operand }]
}
