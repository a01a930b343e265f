import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { readJobFile } from '../job-file/read-job-file.ts'
import { inRegionOfJob } from './job-region.ts'
import { problemsFailure, validated } from './problems.ts'

/** `job validate`: everything for which the server would refuse the job, with its places. */
export async function runJobValidate(invocation: Invocation): Promise<number> {
  const { output, args } = invocation
  const read = await readJobFile(invocation, args[0] ?? '')
  const data = await validated(await inRegionOfJob(invocation, read.job), read)
  const problems = data.ValidationErrors ?? []
  if (output.isForMachines) {
    output.show(data, () => '')
    return problems.length === 0 ? EXIT_CODES.ok : EXIT_CODES.failed
  }
  if (data.Warnings !== '') output.note(data.Warnings.trimEnd())
  if (problems.length > 0) throw await problemsFailure(invocation, read, problems)
  output.say(`Job "${read.job.ID}" is valid.`)
  return EXIT_CODES.ok
}
