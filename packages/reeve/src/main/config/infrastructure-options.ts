import { TOOLS, TOOL_SOURCES } from '../../infrastructure/index.ts'
import type { InfrastructureConfig } from './agent-config.ts'
import { constant, option } from './option.ts'
import { duration, stringMatching, oneOf, integer } from './option-types.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const version = stringMatching(
  'an exact version such as "1.11.4"',
  /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/,
)
const archive = stringMatching('the address of an archive', /^\S{1,2048}$/)
const image = stringMatching('the name of an image', /^\S{1,512}$/)
const phaseTime = duration({ msMin: MINUTE_MS, msMax: 7 * DAY_MS })

/** Settings of infrastructure runs. See docs/explanation/infrastructure-runs.md. */
export const infrastructureOptions = {
  infrastructureTool: option({
    kind: oneOf(TOOLS),
    file: ['infrastructure', 'tool'],
    environment: 'REEVE_INFRASTRUCTURE_TOOL',
    byDefault: constant(TOOLS[0], `\`${TOOLS[0]}\``),
    help: 'The tool that plans and applies runs. These settings are for servers, each the same.',
    read: (config) => config.infrastructure.tool,
  }),
  infrastructureSource: option({
    kind: oneOf(TOOL_SOURCES),
    file: ['infrastructure', 'source'],
    environment: 'REEVE_INFRASTRUCTURE_SOURCE',
    byDefault: constant('node' as const, '`node`'),
    help:
      'Where the tool comes from: `node` is what nodes have installed, `artifact` is downloaded ' +
      'by each phase, `image` is a container image with the tool and this program.',
    read: (config) => config.infrastructure.source,
  }),
  infrastructureArtifact: option({
    kind: archive,
    file: ['infrastructure', 'artifact'],
    environment: 'REEVE_INFRASTRUCTURE_ARTIFACT',
    byDefault: constant(undefined, 'none'),
    help:
      'The archive with the tool at its top, for `source = "artifact"`. `{version}`, `{os}` and ' +
      '`{arch}` are replaced.',
    read: (config) => config.infrastructure.artifact,
  }),
  infrastructureImage: option({
    kind: image,
    file: ['infrastructure', 'image'],
    environment: 'REEVE_INFRASTRUCTURE_IMAGE',
    byDefault: constant(undefined, 'none'),
    help: 'The image, for `source = "image"`. `{version}` is replaced.',
    read: (config) => config.infrastructure.image,
  }),
  infrastructureVersion: option({
    kind: version,
    file: ['infrastructure', 'version'],
    environment: 'REEVE_INFRASTRUCTURE_VERSION',
    byDefault: constant(undefined, 'none'),
    help:
      'The version of an artifact or image for workspaces that do not pin one; without ' +
      '`{version}` in its address, the version that it has.',
    read: (config) => config.infrastructure.version,
  }),
  infrastructureCpu: option({
    kind: integer({ min: 1, max: 1_000_000 }),
    file: ['infrastructure', 'cpu'],
    environment: 'REEVE_INFRASTRUCTURE_CPU',
    byDefault: constant(200, '`200`'),
    help: 'MHz that each plan and apply reserves.',
    read: (config) => config.infrastructure.cpuMHz,
  }),
  infrastructureMemory: option({
    kind: integer({ min: 10, max: 10_000_000 }),
    file: ['infrastructure', 'memory'],
    environment: 'REEVE_INFRASTRUCTURE_MEMORY',
    byDefault: constant(512, '`512`'),
    help: 'MB of memory that each plan and apply may use.',
    read: (config) => config.infrastructure.memoryMB,
  }),
  infrastructurePlanTimeout: option({
    kind: phaseTime,
    file: ['infrastructure', 'plan_timeout'],
    environment: 'REEVE_INFRASTRUCTURE_PLAN_TIMEOUT',
    byDefault: constant(120 * MINUTE_MS, '`2h`'),
    help: 'How long a plan may take; then it is canceled.',
    read: (config) => config.infrastructure.planMsMax,
  }),
  infrastructureApplyTimeout: option({
    kind: phaseTime,
    file: ['infrastructure', 'apply_timeout'],
    environment: 'REEVE_INFRASTRUCTURE_APPLY_TIMEOUT',
    byDefault: constant(DAY_MS, '`24h`'),
    help: 'How long an apply may take; then it is canceled.',
    read: (config) => config.infrastructure.applyMsMax,
  }),
  infrastructureKillTimeout: option({
    kind: duration({ msMin: 1_000, msMax: DAY_MS }),
    file: ['infrastructure', 'kill_timeout'],
    environment: 'REEVE_INFRASTRUCTURE_KILL_TIMEOUT',
    byDefault: constant(10 * MINUTE_MS, '`10m`'),
    help:
      'Time between the interrupt and the kill of an apply whose job is stopped or whose node is ' +
      'drained. At most `client.max_kill_timeout` of the node: raise both.',
    read: (config) => config.infrastructure.applyKillMs,
  }),
}

interface InfrastructureSettings {
  readonly infrastructureTool: InfrastructureConfig['tool']
  readonly infrastructureSource: InfrastructureConfig['source']
  readonly infrastructureArtifact: string | undefined
  readonly infrastructureImage: string | undefined
  readonly infrastructureVersion: string | undefined
  readonly infrastructureCpu: number
  readonly infrastructureMemory: number
  readonly infrastructurePlanTimeout: number
  readonly infrastructureApplyTimeout: number
  readonly infrastructureKillTimeout: number
}

export function infrastructureConfig(settings: InfrastructureSettings): InfrastructureConfig {
  return {
    tool: settings.infrastructureTool,
    source: settings.infrastructureSource,
    artifact: settings.infrastructureArtifact,
    image: settings.infrastructureImage,
    version: settings.infrastructureVersion,
    cpuMHz: settings.infrastructureCpu,
    memoryMB: settings.infrastructureMemory,
    planMsMax: settings.infrastructurePlanTimeout,
    applyMsMax: settings.infrastructureApplyTimeout,
    applyKillMs: settings.infrastructureKillTimeout,
  }
}

/** Describes what is missing in the source of the tool; undefined if the settings are complete. */
export function infrastructureProblem(settings: InfrastructureSettings): string | undefined {
  const { infrastructureSource: source } = settings
  if (source === 'artifact' && settings.infrastructureArtifact === undefined)
    return 'infrastructure.source is "artifact", but infrastructure.artifact is not set. Set it.'
  if (source === 'image' && settings.infrastructureImage === undefined)
    return 'infrastructure.source is "image", but infrastructure.image is not set. Set it.'
  return undefined
}
