import type { Job, NetworkResource, Service, Task, TaskGroup } from '@reeve/contract'
import { LIMITS } from '../limits.ts'
import { issue, type ValidationIssue } from './validation-issue.ts'

/**
 * Rejects names with control characters. Names become file names, environment variables, labels,
 * log lines and terminal output, where a control character is invisible or acts on the reader.
 * Rejected here, even if a node would accept them.
 */
export function checkJobNames(job: Job): readonly ValidationIssue[] {
  const names = new NameChecker()
  // Null characters in these are reported by the rules of ID and name.
  names.check('ID', 'Job ID', withoutNull(job.ID))
  names.check('Name', 'Job name', withoutNull(job.Name))
  names.check('NodePool', 'Node pool', job.NodePool)
  names.checkAll('Datacenters', 'Datacenter', job.Datacenters)
  names.checkKeys('Meta', 'Meta key', job.Meta)
  const { MetaRequired, MetaOptional } = job.ParameterizedJob ?? NO_META
  names.checkAll('ParameterizedJob.MetaRequired', 'Meta key', MetaRequired)
  names.checkAll('ParameterizedJob.MetaOptional', 'Meta key', MetaOptional)
  return names.findings
}

const NO_META = { MetaRequired: null, MetaOptional: null }

export function checkGroupNames(group: TaskGroup, path: string): readonly ValidationIssue[] {
  const names = new NameChecker()
  names.check(`${path}.Name`, 'Task group name', withoutNull(group.Name))
  names.checkKeys(`${path}.Meta`, 'Meta key', group.Meta)
  names.checkKeys(`${path}.Volumes`, 'Volume name', group.Volumes)
  for (const [label, volume] of Object.entries(group.Volumes ?? {}))
    names.check(`${path}.Volumes[${label}].Source`, 'Volume source', volume.Source)
  checkNetworkNames(names, `${path}.Networks`, group.Networks)
  checkServiceNames(names, `${path}.Services`, group.Services)
  return names.findings
}

export function checkTaskNames(task: Task, path: string): readonly ValidationIssue[] {
  const names = new NameChecker()
  names.check(`${path}.Name`, 'Task name', withoutNull(task.Name))
  names.check(`${path}.Driver`, 'Task driver', task.Driver)
  names.check(`${path}.User`, 'User', task.User)
  names.checkKeys(`${path}.Env`, 'Environment variable', task.Env)
  names.checkKeys(`${path}.Meta`, 'Meta key', task.Meta)
  names.checkConfigKeys(`${path}.Config`, task.Config)
  names.check(`${path}.DispatchPayload.File`, 'Payload file', task.DispatchPayload?.File ?? '')
  checkFileNames(names, path, task)
  checkServiceNames(names, `${path}.Services`, task.Services)
  checkNetworkNames(names, `${path}.Resources.Networks`, task.Resources.Networks)
  for (const [index, { Name }] of (task.Actions ?? []).entries())
    names.check(`${path}.Actions[${index}].Name`, 'Action name', Name)
  return names.findings
}

function checkFileNames(names: NameChecker, path: string, task: Task): void {
  for (const [index, artifact] of (task.Artifacts ?? []).entries()) {
    const at = `${path}.Artifacts[${index}]`
    names.check(`${at}.GetterSource`, 'Artifact source', artifact.GetterSource)
    names.check(`${at}.RelativeDest`, 'Artifact destination', artifact.RelativeDest)
    names.checkKeys(`${at}.GetterOptions`, 'Artifact option', artifact.GetterOptions)
    names.checkKeys(`${at}.GetterHeaders`, 'Artifact header', artifact.GetterHeaders)
  }
  for (const [index, template] of (task.Templates ?? []).entries()) {
    const at = `${path}.Templates[${index}]`
    names.check(`${at}.SourcePath`, 'Template source', template.SourcePath)
    names.check(`${at}.DestPath`, 'Template destination', template.DestPath)
  }
  for (const [index, mount] of (task.VolumeMounts ?? []).entries()) {
    const at = `${path}.VolumeMounts[${index}]`
    names.check(`${at}.Volume`, 'Volume name', mount.Volume)
    names.check(`${at}.Destination`, 'Volume destination', mount.Destination)
  }
}

function checkNetworkNames(
  names: NameChecker,
  path: string,
  networks: readonly NetworkResource[] | null,
): void {
  for (const [index, network] of (networks ?? []).entries()) {
    const at = `${path}[${index}]`
    names.check(`${at}.Mode`, 'Network mode', network.Mode)
    names.check(`${at}.Hostname`, 'Hostname', network.Hostname)
    names.checkKeys(`${at}.CNI.Args`, 'CNI argument', network.CNI?.Args ?? null)
    for (const list of ['ReservedPorts', 'DynamicPorts'] as const)
      for (const [position, port] of (network[list] ?? []).entries()) {
        names.check(`${at}.${list}[${position}].Label`, 'Port label', port.Label)
        names.check(`${at}.${list}[${position}].HostNetwork`, 'Host network', port.HostNetwork)
      }
  }
}

function checkServiceNames(
  names: NameChecker,
  path: string,
  services: readonly Service[] | null,
): void {
  for (const [index, service] of (services ?? []).entries()) {
    const at = `${path}[${index}]`
    names.check(`${at}.Name`, 'Service name', service.Name)
    names.check(`${at}.PortLabel`, 'Port label', service.PortLabel)
    names.checkAll(`${at}.Tags`, 'Service tag', service.Tags)
    names.checkAll(`${at}.CanaryTags`, 'Service tag', service.CanaryTags)
    names.checkKeys(`${at}.Meta`, 'Meta key', service.Meta)
    for (const [position, check] of (service.Checks ?? []).entries()) {
      names.check(`${at}.Checks[${position}].Name`, 'Check name', check.Name)
      names.checkKeys(`${at}.Checks[${position}].Header`, 'Check header', check.Header)
    }
  }
}

// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/
// eslint-disable-next-line no-control-regex -- as above
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/g

/** Collects problems; valid names cost one search and no allocation. */
class NameChecker {
  readonly findings: ValidationIssue[] = []

  check(path: string, noun: string, name: string): void {
    const at = name.search(CONTROL_CHARACTER)
    if (at < 0) return
    const character = escapeOf(name.charAt(at))
    const problem = `contains the control character ${character} at position ${at + 1}`
    this.findings.push(issue(path, `${noun} "${escapedName(name)}" ${problem}`))
  }

  checkAll(path: string, noun: string, names: readonly string[] | null): void {
    for (const [index, name] of (names ?? []).entries()) this.check(`${path}[${index}]`, noun, name)
  }

  checkKeys(path: string, noun: string, map: Readonly<Record<string, unknown>> | null): void {
    for (const name of Object.keys(map ?? {})) this.check(path, noun, name)
  }

  /** Checks the keys of driver settings; values may be any text, such as a script. */
  checkConfigKeys(path: string, value: unknown, depth = 0): void {
    if (typeof value !== 'object' || value === null || depth > LIMITS.jsonBodyDepthMax) return
    for (const [key, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) this.check(path, 'Driver setting', key)
      this.checkConfigKeys(path, inner, depth + 1)
    }
  }
}

/** Escapes control characters and truncates a long name. */
function escapedName(name: string): string {
  const cut = name.length > LIMITS.shownNameCharsMax
  const head = cut ? `${name.slice(0, LIMITS.shownNameCharsMax)}…` : name
  return head.replaceAll(CONTROL_CHARACTERS, escapeOf)
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function withoutNull(name: string): string {
  return name.includes('\0') ? '' : name
}
