import { join } from 'node:path'
import type { TaskDriver } from '../agent/index.ts'
import {
  DockerDriver,
  ExecDriver,
  NativeSupervisor,
  RawExecDriver,
  type DockerDriverOptions,
} from '../drivers/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { tcpEndpoint } from './config/docker-options.ts'
import { taskHelperPath } from './task-program.ts'
import { systemClock as clock } from './system.ts'

/**
 * Creates the drivers that the configuration enables. Each driver detects whether it works on this
 * machine.
 */
export function createDrivers(
  { rawExec, exec, docker }: AgentConfig['client'],
  dataDir: string,
): readonly TaskDriver[] {
  const program = taskHelperPath(dataDir)
  const stateDir = join(dataDir, 'drivers')
  const helper =
    program === undefined ? undefined : new NativeSupervisor({ program, stateDir, clock })
  const drivers: TaskDriver[] = []
  if (rawExec)
    drivers.push(new RawExecDriver({ clock, ...(helper === undefined ? {} : { helper }) }))
  if (exec.enabled && helper !== undefined) {
    const chrootEnv = Object.keys(exec.chrootEnv).length === 0 ? undefined : exec.chrootEnv
    drivers.push(new ExecDriver({ clock, helper, stateDir, policy: { ...exec, chrootEnv } }))
  }
  if (docker.enabled) {
    drivers.push(
      new DockerDriver({ clock, stateDir, helper: program, ...dockerDriverOptions(docker) }),
    )
  }
  return drivers
}

function dockerDriverOptions(
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
