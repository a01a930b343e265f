import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import { runProgram } from '../../run-program.ts'
import { findProgram } from './network-files.ts'
import { CNI_MODE_PREFIX } from './network-config.ts'
import { pluginEnvironment, pluginInput, type PluginCall } from './plugin-call.ts'
import { parsePluginResult, pluginErrorText, type PluginResult } from './plugin-result.ts'

/** Calls a plug-in and returns what it prints; Fault `network` with the plug-in's own words. */
export async function runPlugin(call: PluginCall): Promise<string> {
  const program = await findProgram(call.plugin.type, call.directories)
  if (!program.ok) throw failed(call, program.error)
  const env = pluginEnvironment(call)
  const msMax = AGENT_LIMITS.cniPluginMsMax
  const input = pluginInput(call)
  const end = await runProgram(program.value, [], { input, env, msMax })
  if (end.failure === undefined) return end.output
  throw failed(call, pluginErrorText(end.output) ?? (end.complaint || end.failure))
}

export async function addByPlugin(call: PluginCall): Promise<PluginResult> {
  const result = parsePluginResult(await runPlugin(call))
  if (!result.ok) throw failed(call, result.error)
  return result.value
}

function failed({ command, plugin, attachment }: PluginCall, reason: string): Fault {
  const mode = `${CNI_MODE_PREFIX}${attachment.network.name}`
  return new Fault('network', `${mode}: ${command} of the plug-in "${plugin.type}": ${reason}`)
}
