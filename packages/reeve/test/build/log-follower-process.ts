/** Follows the log of a test's engine until it is killed: an agent that has this one task. */
import { EngineClient } from '../../src/drivers/docker/engine-client.ts'
import { LogFollower } from '../../src/drivers/docker/log-follower.ts'

const [socketPath = '', dir = '', maxFileBytes = ''] = process.argv.slice(2)

const follower = new LogFollower({
  engine: new EngineClient(socketPath),
  containerId: 'c1',
  logs: {
    stdoutPrefix: `${dir}/web.stdout`,
    stderrPrefix: `${dir}/web.stderr`,
    maxFiles: 1_000,
    maxFileBytes: Number(maxFileBytes),
  },
  isTty: false,
  dir,
  clock: {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    after: (delayMs, wake) => {
      const timer = setTimeout(wake, delayMs)
      return () => clearTimeout(timer)
    },
  },
  report: () => undefined,
  isRunning: () => Promise.resolve(true),
})

process.once('SIGTERM', () => follower.stop())
