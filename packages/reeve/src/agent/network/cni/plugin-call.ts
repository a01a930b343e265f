import type { TaskPort } from '../../task-launch.ts'
import { PROTOCOLS } from '../port-map.ts'
import type { NetworkConfig, PluginConfig } from './network-config.ts'
import { INTERFACE_NAME, type PluginResult } from './plugin-result.ts'

export type PluginCommand = 'ADD' | 'DEL'

/** Data of an allocation that all its plug-in calls share, from ADD to DEL. */
export interface Attachment {
  readonly network: NetworkConfig
  readonly args: Readonly<Record<string, string>>
  readonly ports: readonly TaskPort[]
}

/** One call of one plug-in. */
export interface PluginCall {
  readonly command: PluginCommand
  readonly plugin: PluginConfig
  readonly attachment: Attachment
  readonly allocationId: string
  /** Empty where the namespace is gone. */
  readonly namespacePath: string
  /** Directories that are searched for plug-ins. */
  readonly directories: readonly string[]
  /** In ADD the result of the previous plug-in, in DEL that of the last. */
  readonly prevResult: PluginResult | undefined
}

/** The environment of a call: all that a plug-in receives besides its settings. */
export function pluginEnvironment(call: PluginCall): Record<string, string> {
  // Plug-ins must not reject arguments that are meant for others.
  const args = { IgnoreUnknown: 'true', ...call.attachment.args }
  return {
    CNI_COMMAND: call.command,
    CNI_CONTAINERID: call.allocationId,
    CNI_NETNS: call.namespacePath,
    CNI_IFNAME: INTERFACE_NAME,
    CNI_ARGS: Object.entries(args)
      .map(([name, value]) => `${name}=${value}`)
      .join(';'),
    CNI_PATH: call.directories.join(':'),
  }
}

/**
 * Standard input of a plug-in: its settings from the file, name and version of the network, the
 * previous result, and the runtime configuration that its `capabilities` request.
 */
export function pluginInput({ plugin, attachment, prevResult }: PluginCall): string {
  const { network, ports } = attachment
  const { capabilities = {}, ...settings } = plugin
  const mapsPorts = capabilities['portMappings'] === true && ports.length > 0
  return JSON.stringify({
    ...settings,
    name: network.name,
    cniVersion: network.cniVersion,
    runtimeConfig: mapsPorts ? { portMappings: portMappings(ports) } : undefined,
    prevResult,
  })
}

function portMappings(ports: readonly TaskPort[]): readonly object[] {
  return ports.flatMap(({ hostIp, hostPort, to }) =>
    PROTOCOLS.map((protocol) => ({
      hostPort,
      containerPort: to > 0 ? to : hostPort,
      protocol,
      ...(hostIp === '' ? {} : { hostIP: hostIp }),
    })),
  )
}

/** Whether DEL accepts a result; plug-ins of earlier versions do not. */
export function supportsPrevResultInDelete({ cniVersion }: NetworkConfig): boolean {
  return !cniVersion.startsWith('0.3.')
}
