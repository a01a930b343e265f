import { join } from 'node:path'
import { testExamples } from '@reeve/kit/test/readme-examples.ts'

testExamples(join(import.meta.dirname, '../README.md'))
