/**
 * A program of its own: `connect-checked SOURCE HOST PORT` connects its input and output to a
 * host. `ssh` and `git://` connections are opened with it, because only the program that resolves a
 * name and connects knows that both are the same address.
 */
import { errorMessage } from '@reeve/kit/fault.ts'
import { connectChecked } from './git-proxy.ts'

const [source = '', host = '', port = ''] = process.argv.slice(2)
const describe = `Artifact source ${source}`

try {
  const policy = { allowsLocal: false }
  const socket = await connectChecked({ host, port: Number(port), policy, describe })
  socket.on('error', () => process.exit(1))
  socket.on('close', () => process.exit(0))
  process.stdin.pipe(socket)
  socket.pipe(process.stdout)
} catch (thrown) {
  process.stderr.write(`${errorMessage(thrown)}\n`)
  process.exitCode = 1
}
