import type { Input, Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { RUNNER_TASK, TICKET_ITEM, ticketPath } from '../governance/index.ts'
import type { RunPhaseRow, WorkspaceRow } from '../model/index.ts'
import {
  type ToolName,
  toolPathAttribute,
  TOOLS,
  type ToolSource,
  VERSION_PLACEHOLDER,
} from './tools.ts'

/** How phases of runs execute on nodes. */
export interface ExecutionSettings {
  /**
   * `exec` isolates the tool from its node; `raw_exec` does not and is meant for trials only.
   * Images need neither.
   */
  readonly driver: 'exec' | 'raw_exec'
  /** The program that plans and applies. */
  readonly tool: ToolName
  readonly source: ToolSource
  /** Archive with the tool; set if it is the source. */
  readonly artifact: string | undefined
  /** Image with the tool and this program; set if it is the source. */
  readonly image: string | undefined
  /** Version of the artifact or image for workspaces that do not pin one. */
  readonly version: string | undefined
  readonly cpuMHz: number
  readonly memoryMB: number
  readonly planMsMax: number
  readonly applyMsMax: number
  /**
   * Time for an apply to finish its current operation after an interrupt, so that the state stays
   * complete.
   */
  readonly applyKillMs: number
  /** Phases of one organization that execute concurrently. */
  readonly phasesAtOnceMax: number
}

export const EXECUTION_DEFAULTS: ExecutionSettings = {
  driver: 'exec',
  tool: TOOLS[0],
  source: 'node',
  artifact: undefined,
  image: undefined,
  version: undefined,
  cpuMHz: 200,
  memoryMB: 512,
  planMsMax: 2 * 60 * 60 * 1_000,
  applyMsMax: 24 * 60 * 60 * 1_000,
  applyKillMs: 10 * 60_000,
  phasesAtOnceMax: 10,
}

interface PhaseJobInput {
  readonly phase: RunPhaseRow
  readonly workspace: Pick<WorkspaceRow, 'name'>
  readonly settings: ExecutionSettings
  /** Version of the tool; null if it is unknown, because an image or artifact has its own. */
  readonly toolVersion: string | null
  /** Where the runner finds a server. */
  readonly address: string
  /** CA certificates that verify the server, in PEM form; empty to use those of the node. */
  readonly authorities: string
}

/** A plan changes nothing, so it needs little time to end after an interrupt. */
const PLAN_KILL_TIMEOUT_MS = 60_000

/** A user waits for an apply, because it was confirmed. */
const PRIORITY = { plan: 50, apply: 60 } as const

/** Allocations of a plan: if it fails or loses its node before it starts, it is replaced once. */
export const PLAN_ALLOCATIONS_MAX = 2

/**
 * A ticket is bound to the first runner that presents it, so a replacement of a started plan would
 * be rejected.
 */
const RESCHEDULE = {
  plan: {
    Attempts: PLAN_ALLOCATIONS_MAX - 1,
    Interval: nsFromMs(24 * 60 * 60 * 1_000),
    Delay: nsFromMs(5_000),
    DelayFunction: 'constant',
    Unlimited: false,
  },
  apply: { Attempts: 0, Unlimited: false },
} as const

/**
 * Builds the batch job of a phase. It is never restarted: an interrupted apply needs manual
 * inspection. The job contains no secrets: the runner reads its ticket from a variable.
 */
export function buildPhaseJob(parts: PhaseJobInput): Input<Job> {
  const { phase, workspace, settings } = parts
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
        ReschedulePolicy: RESCHEDULE[phase.phase],
        Constraints: toolConstraints(parts),
        Tasks: [
          {
            Name: RUNNER_TASK,
            Driver: settings.source === 'image' ? 'docker' : settings.driver,
            Config: driverConfig(parts),
            Artifacts: toolArtifacts(parts),
            Env: runnerEnvironment(parts),
            Templates: [ticketTemplate(parts)],
            KillSignal: 'SIGINT',
            KillTimeout: nsFromMs(
              phase.phase === 'plan' ? PLAN_KILL_TIMEOUT_MS : settings.applyKillMs,
            ),
            Resources: { CPU: settings.cpuMHz, MemoryMB: settings.memoryMB },
          },
        ],
      },
    ],
  }
}

function driverConfig({ settings, toolVersion }: PhaseJobInput): Record<string, unknown> {
  if (settings.source === 'image') {
    const image = fillVersion(settings.image, toolVersion)
    return { image, command: 'reeve', args: ['run-phase'] }
  }
  const args = ['${attr.infrastructure.program}', 'run-phase']
  return { command: '${attr.infrastructure.runtime}', args }
}

/** Directory of the task into which an artifact is unpacked. */
const TOOL_DIRECTORY = 'tool'

function toolArtifacts({ settings, toolVersion }: PhaseJobInput) {
  if (settings.source !== 'artifact') return []
  const GetterSource = fillVersion(settings.artifact, toolVersion)
    .replaceAll('{os}', '${attr.kernel.name}')
    .replaceAll('{arch}', '${attr.cpu.arch}')
  return [{ GetterSource, GetterMode: 'dir', RelativeDest: `local/${TOOL_DIRECTORY}` }]
}

function fillVersion(address: string | undefined, version: string | null): string {
  return (address ?? '').replaceAll(VERSION_PLACEHOLDER, version ?? '')
}

/** Writes the ticket to the private directory of the task, which ignores later changes. */
function ticketTemplate({ phase }: PhaseJobInput) {
  const path = JSON.stringify(ticketPath(phase))
  return {
    EmbeddedTmpl: `{{ with variable ${path} }}{{ .${TICKET_ITEM} }}{{ end }}`,
    DestPath: 'secrets/ticket',
    Perms: '0600',
    ChangeMode: 'noop',
  } as const
}

function runnerEnvironment(parts: PhaseJobInput): Record<string, string> {
  const { phase, address, authorities } = parts
  return {
    REEVE_PHASE_ADDRESS: address,
    REEVE_PHASE_ID: phase.id,
    REEVE_PHASE_TOOL: toolPath(parts),
    ...(authorities === '' ? {} : { REEVE_PHASE_AUTHORITIES: authorities }),
  }
}

function toolPath({ settings: { tool, source }, toolVersion }: PhaseJobInput): string {
  switch (source) {
    case 'image':
      // In an image the tool is on the PATH.
      return tool
    case 'artifact':
      // The runner resolves it in the directory of the task.
      return `${TOOL_DIRECTORY}/${tool}`
    case 'node':
      return toolPathReference(tool, toolVersion)
  }
}

/** Only nodes with exactly this version: a plan cannot be applied by another one. */
function toolConstraints({ settings: { tool, source }, toolVersion }: PhaseJobInput) {
  if (source !== 'node') return []
  return [{ LTarget: toolPathReference(tool, toolVersion), RTarget: '', Operand: 'is_set' }]
}

/** Reference to the path of the tool on the node. */
function toolPathReference(tool: ToolName, version: string | null): string {
  return `\${attr.${toolPathAttribute(tool, version ?? '')}}`
}
