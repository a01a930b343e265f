import { spawn } from 'node:child_process'

/**
 * Notifies the service manager that this agent is ready. Node has no Unix datagram sockets, so
 * `systemd-notify` does it; without it, no notification is needed either. The variable is removed
 * from the environment, so that tasks cannot send notifications for the agent.
 */
export function createReadyNotifier(environment: NodeJS.ProcessEnv = process.env): () => void {
  const socket = environment['NOTIFY_SOCKET']
  delete environment['NOTIFY_SOCKET']
  if (socket === undefined || socket === '') return () => undefined
  // Root may send for the PID of the agent; for other users, NotifyAccess= of the unit decides.
  const as = process.getuid?.() === 0 ? [`--pid=${process.pid}`] : []
  return () => {
    const child = spawn('systemd-notify', ['--ready', ...as], {
      env: { ...environment, NOTIFY_SOCKET: socket },
      stdio: 'ignore',
    })
    // Without the program, the start of the unit times out and the journal reports it.
    child.once('error', () => undefined)
    child.unref()
  }
}
