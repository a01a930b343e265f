import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import { runProgram } from '../../run-program.ts'
import { findPluginProgram } from './network-files.ts'
import { CNI_MODE_PREFIX } from './network-config.ts'
import { pluginEnvironment, pluginInput, type PluginCall } from './plugin-call.ts'
import { parsePluginResult, pluginErrorMessage, type PluginResult } from './plugin-result.ts'

/** Runs a plug-in and returns its output; Fault `network` with the message of the plug-in. */
export async function runPlugin(call: PluginCall): Promise<string> {
  const program = await findPluginProgram(call.plugin.type, call.directories)
  if (!program.ok) throw pluginFault(call, program.error)
  const env = pluginEnvironment(call)
  const timeoutMs = AGENT_LIMITS.cniPluginTimeoutMs
  const input = pluginInput(call)
  const result = await runProgram(program.value, [], { input, env, timeoutMs })
  if (result.failure === undefined) return result.stdout
  throw pluginFault(call, pluginErrorMessage(result.stdout) ?? (result.stderr || result.failure))
}

export async function runAddPlugin(call: PluginCall): Promise<PluginResult> {
  const result = parsePluginResult(await runPlugin(call))
  if (!result.ok) throw pluginFault(call, result.error)
  return result.value
}

function pluginFault({ command, plugin, attachment }: PluginCall, reason: string): Fault {
  const mode = `${CNI_MODE_PREFIX}${attachment.network.name}`
  return new Fault('network', `${mode}: ${command} of the plug-in "${plugin.type}": ${reason}`)
}
