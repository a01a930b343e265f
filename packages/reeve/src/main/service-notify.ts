import { spawn } from 'node:child_process'

/**
 * Reports to the service manager that this agent serves. Node has no datagram sockets, so systemd's
 * own program does it; where none is installed, nothing waits for it either. The variable is
 * removed from the environment: tasks must not speak in the agent's name.
 */
export function notifyServiceManager(environment: NodeJS.ProcessEnv = process.env): () => void {
  const socket = environment['NOTIFY_SOCKET']
  delete environment['NOTIFY_SOCKET']
  if (socket === undefined || socket === '') return () => undefined
  // Root may speak as the agent itself; other users are told apart by NotifyAccess= of the unit.
  const as = process.getuid?.() === 0 ? [`--pid=${process.pid}`] : []
  return () => {
    const child = spawn('systemd-notify', ['--ready', ...as], {
      env: { ...environment, NOTIFY_SOCKET: socket },
      stdio: 'ignore',
    })
    // Without the program the unit's start times out, and systemd's journal says which unit.
    child.once('error', () => undefined)
    child.unref()
  }
}
