import { rm } from 'node:fs/promises'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { loginFilePath, readLogin, writeLogin } from '../settings/login-file.ts'

/** `logout`: removes the saved token of a server, or all. */
export async function runLogout({
  flags,
  host,
  output,
  settings,
}: CommandContext): Promise<number> {
  const { environment } = host
  const saved = await readLogin(environment)
  if (flags.has('all') || saved === undefined) {
    await rm(loginFilePath(environment), { force: true })
    output.printLine('No server and no token is kept.')
    return EXIT_CODES.ok
  }
  const { [settings.address]: known, ...tokens } = saved.tokens
  await writeLogin(environment, { ...saved, tokens })
  output.printLine(
    known === undefined
      ? `No token was kept for ${settings.address}.`
      : `The token for ${settings.address} was removed. It is still valid elsewhere.`,
  )
  return EXIT_CODES.ok
}
