import {
  DISCOVERY_PROVIDER,
  SERVICE_PROVIDER,
  type Service,
  type ServiceCheck,
  type TaskGroup,
} from '@reeve/contract'
import { PORT_MAX } from '../limits.ts'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  concatIssues,
  forEachEntry,
  issue,
  nestIssues,
  quote,
  issueIf,
  type ValidationIssue,
} from './validation-issue.ts'
import { checkUnsupportedCheck, checkUnsupportedService } from './unsupported.ts'
import { portLabels } from './validate-network.ts'

const MIN_CHECK_DURATION_NS = nsFromMs(1_000)
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
interface OwnedService {
  readonly service: Service
  readonly path: string
  readonly isOfGroup: boolean
}

export function checkServices(group: TaskGroup, path: string): readonly ValidationIssue[] {
  const services = servicesOf(group, path)
  if (services.length === 0) return []
  const labels = portLabels(group)
  const tasks = new Set(group.Tasks.map((task) => task.Name))
  return concatIssues(
    checkUniqueness(services, path),
    checkProviders(services, path),
    checkPortLabels(services, labels),
    services.flatMap((entry) =>
      nestIssues(
        entry.path,
        `Service ${entry.service.Name} validation failed`,
        concatIssues(
          checkService(entry),
          checkUnsupportedService(entry.service, entry.path),
          issueIf(
            entry.service.TaskName !== '' &&
              !tasks.has(entry.service.TaskName) &&
              issue(
                `${entry.path}.TaskName`,
                `Service ${entry.service.Name} refers to the unknown task ${quote(entry.service.TaskName)}`,
              ),
          ),
          forEachEntry(entry.service.Checks, `${entry.path}.Checks`, (check, at) =>
            nestIssues(
              at,
              `Check ${check.Name} validation failed`,
              concatIssues(checkCheck(check, at, entry), checkUnsupportedCheck(check, at)),
            ),
          ),
        ),
      ),
    ),
  )
}

function servicesOf(group: TaskGroup, path: string): readonly OwnedService[] {
  const ofGroup = (group.Services ?? []).map((service, i) => ({
    service,
    path: `${path}.Services[${i}]`,
    isOfGroup: true,
  }))
  const ofTasks = group.Tasks.flatMap((task, t) =>
    (task.Services ?? []).map((service, i) => ({
      service,
      path: `${path}.Tasks[${t}].Services[${i}]`,
      isOfGroup: false,
    })),
  )
  return [...ofGroup, ...ofTasks]
}

function checkUniqueness(
  services: readonly OwnedService[],
  path: string,
): readonly ValidationIssue[] {
  const seen = new Set<string>()
  const duplicates = new Set<string>()
  for (const { service } of services) {
    const key = JSON.stringify([service.TaskName, service.Name, service.PortLabel])
    if (seen.has(key)) duplicates.add(`${service.Name}:${service.PortLabel}`)
    seen.add(key)
  }
  const names = [...duplicates].toSorted(compareText).join(', ')
  return issueIf(
    duplicates.size > 0 && issue(`${path}.Services`, `Services are not unique: ${names}`),
  )
}

function checkProviders(
  services: readonly OwnedService[],
  path: string,
): readonly ValidationIssue[] {
  const providers = [...new Set(services.map(({ service }) => service.Provider))].toSorted(
    compareText,
  )
  return issueIf(
    providers.length > 1 &&
      issue(
        `${path}.Services`,
        `Multiple service providers used: task group services must use the same provider, found ${providers.join(', ')}`,
      ),
  )
}

function checkPortLabels(
  services: readonly OwnedService[],
  labels: ReadonlySet<string>,
): readonly ValidationIssue[] {
  const references = services.flatMap(({ service, path }) => [
    { label: service.PortLabel, service, path },
    ...(service.Checks ?? []).map((check) => ({
      label: check.PortLabel,
      service,
      path,
    })),
  ])
  return references.flatMap(({ label, service, path }) => {
    if (label === '' || label.includes('${') || labels.has(label)) return []
    // A number that is no label is the port itself.
    if (/^\d{1,5}$/.test(label) && Number(label) <= PORT_MAX) return []
    const text = `port label ${quote(label)} referenced by services ${service.Name} does not exist`
    return [issue(`${path}.PortLabel`, text)]
  })
}

function checkService({ service, path, isOfGroup }: OwnedService): readonly ValidationIssue[] {
  const { AddressMode: mode, Provider: provider } = service
  // References are resolved on the node only; any letter is a valid placeholder.
  const withPlaceholders = service.Name.replaceAll(REFERENCE, 'x')
  const withoutReferences = service.Name.replaceAll(REFERENCE, '')
  const badName = withoutReferences.length > NAME_CHARS_MAX || !NAME.test(withPlaceholders)
  return concatIssues(
    issueIf(
      badName &&
        issue(
          `${path}.Name`,
          `Service name must be valid per RFC 1123 and can contain only alphanumeric characters or dashes and must be no longer than ${NAME_CHARS_MAX} characters`,
        ),
    ),
    issueIf(
      !PROVIDERS.includes(provider) &&
        issue(
          `${path}.Provider`,
          `Service provider ${quote(provider)} is unknown, must be ${quote(SERVICE_PROVIDER)}`,
        ),
    ),
    issueIf(
      !ADDRESS_MODES.includes(mode) &&
        issue(
          `${path}.AddressMode`,
          `Service address_mode must be one of auto, host, driver, alloc or alloc_ipv6, not ${quote(mode)}`,
        ),
    ),
    issueIf(
      !isOfGroup &&
        mode.startsWith('alloc') &&
        issue(
          `${path}.AddressMode`,
          `Service ${service.Name} cannot use address_mode ${quote(mode)}, only services of a group can`,
        ),
    ),
    issueIf(
      isOfGroup &&
        mode === 'driver' &&
        issue(
          `${path}.AddressMode`,
          `Service ${service.Name} cannot use address_mode "driver", only services of a task can`,
        ),
    ),
    issueIf(
      !ON_UPDATE.includes(service.OnUpdate) &&
        issue(
          `${path}.OnUpdate`,
          `Service on_update must be one of ${ON_UPDATE.join(', ')}, not ${quote(service.OnUpdate)}`,
        ),
    ),
  )
}

function checkCheck(
  check: ServiceCheck,
  path: string,
  parent: OwnedService,
): readonly ValidationIssue[] {
  const { service } = parent
  const hasPort = check.PortLabel !== '' || service.PortLabel !== ''
  return concatIssues(
    issueIf(
      !CHECK_TYPES.includes(check.Type) &&
        issue(
          `${path}.Type`,
          `invalid check type (${quote(check.Type)}), must be one of ${CHECK_TYPES.join(', ')}`,
        ),
    ),
    issueIf(
      ['http', 'tcp', 'grpc'].includes(check.Type) &&
        !hasPort &&
        issue(`${path}.PortLabel`, `check ${quote(check.Name)} is missing a port`),
    ),
    checkProbe(check, path),
    checkTimes(check, path),
    issueIf(
      !INITIAL_STATES.includes(check.InitialStatus) &&
        issue(
          `${path}.InitialStatus`,
          `invalid initial check state (${check.InitialStatus}), must be one of passing, warning, critical`,
        ),
    ),
    checkOnUpdate(check, path),
  )
}

/** Validates the arguments that each type of check requires. */
function checkProbe(check: ServiceCheck, path: string): readonly ValidationIssue[] {
  switch (check.Type) {
    case 'http':
      return concatIssues(
        issueIf(check.Path === '' && issue(`${path}.Path`, 'http type must have http path')),
        issueIf(
          (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(check.Path) || check.Path.startsWith('//')) &&
            issue(`${path}.Path`, 'http type must have relative http path'),
        ),
        issueIf(
          !isReference(check.Protocol) &&
            !HTTP_PROTOCOLS.includes(check.Protocol.toLowerCase()) &&
            issue(
              `${path}.Protocol`,
              `protocol of an http check must be http or https, not ${quote(check.Protocol)}`,
            ),
        ),
        issueIf(
          !isReference(check.Method) &&
            !METHOD.test(check.Method) &&
            issue(`${path}.Method`, `${quote(check.Method)} is not an HTTP method`),
        ),
      )
    case 'script':
      return concatIssues(
        issueIf(
          check.Command === '' &&
            issue(`${path}.Command`, 'script type must have a valid script path'),
        ),
        issueIf(
          check.TaskName === '' && issue(`${path}.TaskName`, 'script type must name its task'),
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

function checkTimes(check: ServiceCheck, path: string): readonly ValidationIssue[] {
  const minimum = formatDurationNs(MIN_CHECK_DURATION_NS)
  return concatIssues(
    issueIf(
      check.Interval < MIN_CHECK_DURATION_NS &&
        issue(
          `${path}.Interval`,
          `interval (${formatDurationNs(check.Interval)}) can not be lower than ${minimum}`,
        ),
    ),
    issueIf(
      check.Timeout < MIN_CHECK_DURATION_NS &&
        issue(
          `${path}.Timeout`,
          `timeout (${formatDurationNs(check.Timeout)}) is lower than required minimum timeout ${minimum}`,
        ),
    ),
  )
}

/** A check whose failures are ignored must not restart its task either. */
function checkOnUpdate(check: ServiceCheck, path: string): readonly ValidationIssue[] {
  const { OnUpdate: onUpdate, CheckRestart: restart } = check
  const canRestart = restart !== null && restart.Limit > 0
  return concatIssues(
    issueIf(
      !ON_UPDATE.includes(onUpdate) &&
        issue(
          `${path}.OnUpdate`,
          `on_update must be one of ${ON_UPDATE.join(', ')}, not ${quote(onUpdate)}`,
        ),
    ),
    issueIf(
      canRestart &&
        onUpdate === 'ignore' &&
        issue(`${path}.OnUpdate`, 'on_update value "ignore" is not compatible with check_restart'),
    ),
    issueIf(
      canRestart &&
        onUpdate === 'ignore_warnings' &&
        !restart.IgnoreWarnings &&
        issue(
          `${path}.OnUpdate`,
          'on_update value "ignore_warnings" requires check_restart to ignore warnings too',
        ),
    ),
    issueIf(
      restart !== null &&
        restart.Limit < 0 &&
        issue(
          `${path}.CheckRestart.Limit`,
          `limit must be greater than or equal to 0 but found ${restart?.Limit ?? 0}`,
        ),
    ),
    issueIf(
      restart !== null &&
        restart.Grace < 0 &&
        issue(
          `${path}.CheckRestart.Grace`,
          `grace period cannot be negative: ${formatDurationNs(restart?.Grace ?? 0)}`,
        ),
    ),
  )
}
