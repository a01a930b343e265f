import {
  DISCOVERY_PROVIDER,
  SERVICE_PROVIDER,
  type Service,
  type ServiceCheck,
  type TaskGroup,
} from '@reeve/contract'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { allOf, each, finding, nest, quote, when, type Finding } from './finding.ts'
import { checkUnsupportedCheck, checkUnsupportedService } from './unsupported.ts'
import { portLabels } from './validate-network.ts'

const CHECK_NS_MIN = nsFromMs(1_000)
const NAME_CHARS_MAX = 63
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/
const REFERENCE = /\$\{[^}]*\}/g
const ADDRESS_MODES = ['', 'auto', 'host', 'driver', 'alloc', 'alloc_ipv6']
const ON_UPDATE = ['require_healthy', 'ignore_warnings', 'ignore']
const INITIAL_STATES = ['', 'passing', 'warning', 'critical']
/** Known providers; external catalogues are recognized and rejected. */
const PROVIDERS: readonly string[] = [SERVICE_PROVIDER, DISCOVERY_PROVIDER]
/**
 * Check types that agents support; a script runs inside the task, as a command with its user. `ttl`
 * checks, which tasks report themselves, need an external catalogue.
 */
const CHECK_TYPES: readonly string[] = ['http', 'tcp', 'grpc', 'script']
const HTTP_PROTOCOLS: readonly string[] = ['', 'http', 'https']
/** RFC 9110, section 9.1: a method is a token. */
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]*$/

/** A service with its parent: services of tasks and of groups obey different rules. */
interface Placed {
  readonly service: Service
  readonly path: string
  readonly ofGroup: boolean
}

export function checkServices(group: TaskGroup, path: string): readonly Finding[] {
  const placed = placedServices(group, path)
  if (placed.length === 0) return []
  const labels = portLabels(group)
  const tasks = new Set(group.Tasks.map((task) => task.Name))
  return allOf(
    checkUniqueness(placed, path),
    checkProviders(placed, path),
    checkPortLabels(placed, labels),
    placed.flatMap((entry) =>
      nest(
        entry.path,
        `Service ${entry.service.Name} validation failed`,
        allOf(
          checkService(entry),
          checkUnsupportedService(entry.service, entry.path),
          when(
            entry.service.TaskName !== '' &&
              !tasks.has(entry.service.TaskName) &&
              finding(
                `${entry.path}.TaskName`,
                `Service ${entry.service.Name} refers to the unknown task ${quote(entry.service.TaskName)}`,
              ),
          ),
          each(entry.service.Checks, `${entry.path}.Checks`, (check, at) =>
            nest(
              at,
              `Check ${check.Name} validation failed`,
              allOf(checkCheck(check, at, entry), checkUnsupportedCheck(check, at)),
            ),
          ),
        ),
      ),
    ),
  )
}

function placedServices(group: TaskGroup, path: string): readonly Placed[] {
  const ofGroup = (group.Services ?? []).map((service, i) => ({
    service,
    path: `${path}.Services[${i}]`,
    ofGroup: true,
  }))
  const ofTasks = group.Tasks.flatMap((task, t) =>
    (task.Services ?? []).map((service, i) => ({
      service,
      path: `${path}.Tasks[${t}].Services[${i}]`,
      ofGroup: false,
    })),
  )
  return [...ofGroup, ...ofTasks]
}

function checkUniqueness(placed: readonly Placed[], path: string): readonly Finding[] {
  const seen = new Set<string>()
  const again = new Set<string>()
  for (const { service } of placed) {
    const key = JSON.stringify([service.TaskName, service.Name, service.PortLabel])
    if (seen.has(key)) again.add(`${service.Name}:${service.PortLabel}`)
    seen.add(key)
  }
  const names = [...again].toSorted(compareText).join(', ')
  return when(again.size > 0 && finding(`${path}.Services`, `Services are not unique: ${names}`))
}

function checkProviders(placed: readonly Placed[], path: string): readonly Finding[] {
  const providers = [...new Set(placed.map(({ service }) => service.Provider))].toSorted(
    compareText,
  )
  return when(
    providers.length > 1 &&
      finding(
        `${path}.Services`,
        `Multiple service providers used: task group services must use the same provider, found ${providers.join(', ')}`,
      ),
  )
}

const PORT_MAX = 65_535

function checkPortLabels(
  placed: readonly Placed[],
  labels: ReadonlySet<string>,
): readonly Finding[] {
  const wanted = placed.flatMap(({ service, path }) => [
    { label: service.PortLabel, service, path },
    ...(service.Checks ?? []).map((check) => ({
      label: check.PortLabel,
      service,
      path,
    })),
  ])
  return wanted.flatMap(({ label, service, path }) => {
    if (label === '' || label.includes('${') || labels.has(label)) return []
    // A number that is no label is the port itself.
    if (/^\d{1,5}$/.test(label) && Number(label) <= PORT_MAX) return []
    const text = `port label ${quote(label)} referenced by services ${service.Name} does not exist`
    return [finding(`${path}.PortLabel`, text)]
  })
}

function checkService({ service, path, ofGroup }: Placed): readonly Finding[] {
  const { AddressMode: mode, Provider: provider } = service
  // References are resolved on the node only; any letter is a valid placeholder.
  const shape = service.Name.replaceAll(REFERENCE, 'x')
  const known = service.Name.replaceAll(REFERENCE, '')
  const badName = known.length > NAME_CHARS_MAX || !NAME.test(shape)
  return allOf(
    when(
      badName &&
        finding(
          `${path}.Name`,
          `Service name must be valid per RFC 1123 and can contain only alphanumeric characters or dashes and must be no longer than ${NAME_CHARS_MAX} characters`,
        ),
    ),
    when(
      !PROVIDERS.includes(provider) &&
        finding(
          `${path}.Provider`,
          `Service provider ${quote(provider)} is unknown, must be ${quote(SERVICE_PROVIDER)}`,
        ),
    ),
    when(
      !ADDRESS_MODES.includes(mode) &&
        finding(
          `${path}.AddressMode`,
          `Service address_mode must be one of auto, host, driver, alloc or alloc_ipv6, not ${quote(mode)}`,
        ),
    ),
    when(
      !ofGroup &&
        mode.startsWith('alloc') &&
        finding(
          `${path}.AddressMode`,
          `Service ${service.Name} cannot use address_mode ${quote(mode)}, only services of a group can`,
        ),
    ),
    when(
      ofGroup &&
        mode === 'driver' &&
        finding(
          `${path}.AddressMode`,
          `Service ${service.Name} cannot use address_mode "driver", only services of a task can`,
        ),
    ),
    when(
      !ON_UPDATE.includes(service.OnUpdate) &&
        finding(
          `${path}.OnUpdate`,
          `Service on_update must be one of ${ON_UPDATE.join(', ')}, not ${quote(service.OnUpdate)}`,
        ),
    ),
  )
}

function checkCheck(check: ServiceCheck, path: string, owner: Placed): readonly Finding[] {
  const { service } = owner
  const hasPort = check.PortLabel !== '' || service.PortLabel !== ''
  return allOf(
    when(
      !CHECK_TYPES.includes(check.Type) &&
        finding(
          `${path}.Type`,
          `invalid check type (${quote(check.Type)}), must be one of ${CHECK_TYPES.join(', ')}`,
        ),
    ),
    when(
      ['http', 'tcp', 'grpc'].includes(check.Type) &&
        !hasPort &&
        finding(`${path}.PortLabel`, `check ${quote(check.Name)} is missing a port`),
    ),
    checkProbe(check, path),
    checkTimes(check, path),
    when(
      !INITIAL_STATES.includes(check.InitialStatus) &&
        finding(
          `${path}.InitialStatus`,
          `invalid initial check state (${check.InitialStatus}), must be one of passing, warning, critical`,
        ),
    ),
    checkOnUpdate(check, path),
  )
}

/** Validates the arguments that each type of check requires. */
function checkProbe(check: ServiceCheck, path: string): readonly Finding[] {
  switch (check.Type) {
    case 'http':
      return allOf(
        when(check.Path === '' && finding(`${path}.Path`, 'http type must have http path')),
        when(
          (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(check.Path) || check.Path.startsWith('//')) &&
            finding(`${path}.Path`, 'http type must have relative http path'),
        ),
        when(
          !isReference(check.Protocol) &&
            !HTTP_PROTOCOLS.includes(check.Protocol.toLowerCase()) &&
            finding(
              `${path}.Protocol`,
              `protocol of an http check must be http or https, not ${quote(check.Protocol)}`,
            ),
        ),
        when(
          !isReference(check.Method) &&
            !METHOD.test(check.Method) &&
            finding(`${path}.Method`, `${quote(check.Method)} is not an HTTP method`),
        ),
      )
    case 'script':
      return allOf(
        when(
          check.Command === '' &&
            finding(`${path}.Command`, 'script type must have a valid script path'),
        ),
        when(
          check.TaskName === '' && finding(`${path}.TaskName`, 'script type must name its task'),
        ),
      )
    default:
      return []
  }
}

/** Reports whether the value is resolved on the node. */
function isReference(text: string): boolean {
  return text.includes('${')
}

function checkTimes(check: ServiceCheck, path: string): readonly Finding[] {
  const shortest = formatDurationNs(CHECK_NS_MIN)
  return allOf(
    when(
      check.Interval < CHECK_NS_MIN &&
        finding(
          `${path}.Interval`,
          `interval (${formatDurationNs(check.Interval)}) can not be lower than ${shortest}`,
        ),
    ),
    when(
      check.Timeout < CHECK_NS_MIN &&
        finding(
          `${path}.Timeout`,
          `timeout (${formatDurationNs(check.Timeout)}) is lower than required minimum timeout ${shortest}`,
        ),
    ),
  )
}

/** A check whose failures are ignored must not restart its task either. */
function checkOnUpdate(check: ServiceCheck, path: string): readonly Finding[] {
  const { OnUpdate: onUpdate, CheckRestart: restart } = check
  const restarts = restart !== null && restart.Limit > 0
  return allOf(
    when(
      !ON_UPDATE.includes(onUpdate) &&
        finding(
          `${path}.OnUpdate`,
          `on_update must be one of ${ON_UPDATE.join(', ')}, not ${quote(onUpdate)}`,
        ),
    ),
    when(
      restarts &&
        onUpdate === 'ignore' &&
        finding(
          `${path}.OnUpdate`,
          'on_update value "ignore" is not compatible with check_restart',
        ),
    ),
    when(
      restarts &&
        onUpdate === 'ignore_warnings' &&
        !restart.IgnoreWarnings &&
        finding(
          `${path}.OnUpdate`,
          'on_update value "ignore_warnings" requires check_restart to ignore warnings too',
        ),
    ),
    when(
      restart !== null &&
        restart.Limit < 0 &&
        finding(
          `${path}.CheckRestart.Limit`,
          `limit must be greater than or equal to 0 but found ${restart?.Limit ?? 0}`,
        ),
    ),
    when(
      restart !== null &&
        restart.Grace < 0 &&
        finding(
          `${path}.CheckRestart.Grace`,
          `grace period cannot be negative: ${formatDurationNs(restart?.Grace ?? 0)}`,
        ),
    ),
  )
}
