import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { readJobFile } from '../job-file/read-job-file.ts'
import { forRegionOfJob } from './job-region.ts'
import { validationFailure, validateOnServer } from './problems.ts'

/** `job validate`: validates a job file on the server and prints all errors with positions. */
export async function runJobValidate(invocation: CommandContext): Promise<number> {
  const { output, args } = invocation
  const read = await readJobFile(invocation, args[0] ?? '')
  const data = await validateOnServer(await forRegionOfJob(invocation, read.job), read)
  const problems = data.ValidationErrors ?? []
  if (output.isStructured) {
    output.print(data, () => '')
    return problems.length === 0 ? EXIT_CODES.ok : EXIT_CODES.failed
  }
  if (data.Warnings !== '') output.printNotice(data.Warnings.trimEnd())
  if (problems.length > 0) throw await validationFailure(invocation, read, problems)
  output.printLine(`Job "${read.job.ID}" is valid.`)
  return EXIT_CODES.ok
}
