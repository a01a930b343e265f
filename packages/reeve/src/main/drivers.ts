import { join } from 'node:path'
import type { TaskDriver } from '../agent/index.ts'
import {
  DockerDriver,
  ExecDriver,
  NativeRuntime,
  RawExecDriver,
  type DockerDriverOptions,
} from '../drivers/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { tcpEndpoint } from './config/docker-options.ts'
import { helperProgram } from './task-program.ts'
import { systemClock as clock } from './system.ts'

/**
 * The drivers that this node's configuration lets tasks have. Which of them work here is found out
 * by each of them.
 */
export function createDrivers(
  { rawExec, exec, docker }: AgentConfig['client'],
  dataDir: string,
): readonly TaskDriver[] {
  const program = helperProgram(dataDir)
  const stateDir = join(dataDir, 'drivers')
  const helper = program === undefined ? undefined : new NativeRuntime({ program, stateDir, clock })
  const drivers: TaskDriver[] = []
  if (rawExec)
    drivers.push(new RawExecDriver({ clock, ...(helper === undefined ? {} : { helper }) }))
  if (exec.enabled && helper !== undefined) {
    const chrootEnv = Object.keys(exec.chrootEnv).length === 0 ? undefined : exec.chrootEnv
    drivers.push(new ExecDriver({ clock, helper, stateDir, policy: { ...exec, chrootEnv } }))
  }
  if (docker.enabled) {
    drivers.push(new DockerDriver({ clock, stateDir, helper: program, ...dockerOf(docker) }))
  }
  return drivers
}

function dockerOf(
  config: AgentConfig['client']['docker'],
): Omit<DockerDriverOptions, 'clock' | 'stateDir' | 'helper'> {
  const { policy, settings, gc, authFile, endpoint, tls } = config
  const tcp = tcpEndpoint(endpoint)
  const hasTls = Object.values(tls).some((file) => file !== undefined)
  return {
    policy,
    settings,
    gc,
    ...(authFile === undefined ? {} : { authFile }),
    ...(tcp === undefined
      ? { socketPath: endpoint.slice('unix://'.length) }
      : { tcp: { ...tcp, tls: hasTls ? tls : undefined } }),
  }
}
